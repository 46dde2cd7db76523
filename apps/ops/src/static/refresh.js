// Fetches the part of the page that changes and puts it in place. Without it the page reloads as a whole.
const live = document.querySelector('[data-refresh]');
const stale = document.querySelector('[data-stale]');
if (live) {
  const look = async () => {
    if (!document.hidden)
      try {
        const answer = await fetch(live.dataset.refresh, { signal: AbortSignal.timeout(10_000) });
        if (!answer.ok) throw new Error(String(answer.status));
        live.innerHTML = await answer.text();
        stale.hidden = true;
      } catch {
        stale.hidden = false;
      }
    setTimeout(look, Number(live.dataset.every));
  };
  setTimeout(look, Number(live.dataset.every));
}
