import { Account } from './account.ts';
import { CallCounter } from './calls.ts';
import { DayReports } from './day-report-faults.ts';
import { DeliveryScript } from './delivery-script.ts';
import { Faults } from './faults.ts';
import { type Amount, parseAmount } from './money.ts';
import type { GatewaySimOptions } from './options.ts';
import { ProviderClock } from './provider-clock.ts';
import { Push } from './push.ts';
import { Schedules } from './schedules.ts';
import { SendLog } from './send-log.ts';
import { stateless } from './stateless-pattern.ts';

/** The state of one running simulator: its books, its faults, and what is going on at this moment. */
export class Simulation {
  readonly options: GatewaySimOptions;
  readonly faults: Faults;
  readonly account: Account;
  readonly clock: ProviderClock;
  readonly delivery: DeliveryScript;
  readonly schedules: Schedules;
  readonly push: Push;
  readonly dayReports = new DayReports();
  readonly calls = new CallCounter();
  readonly pricePerSegment: Amount;
  log: SendLog;
  /** Send requests being answered at present, hanging and held ones included. */
  inFlight = 0;
  /** The most that `inFlight` reached since the start or the last reset. */
  peakInFlight = 0;

  /** @throws RangeError for a price, balance, zone, URL or share that makes no sense. */
  constructor(options: GatewaySimOptions) {
    const { invalidMobile, failMobile } = options;
    this.options = {
      ...options,
      invalidMobile: invalidMobile === null ? null : stateless(invalidMobile),
      failMobile: failMobile === null ? null : stateless(failMobile),
    };
    const replanPush = (): void => this.push.replan();
    this.faults = new Faults(options.seed, options.faults);
    this.pricePerSegment = parseAmount(options.pricePerSegment);
    this.account = new Account(options.balance, () => this.log.billed);
    this.clock = new ProviderClock(options);
    this.delivery = new DeliveryScript(this.options, replanPush);
    this.schedules = new Schedules(options.now, replanPush);
    this.log = new SendLog(options.keepTexts, this.schedules);
    this.push = new Push(this);
  }

  /** Forgets everything accepted and everything set at run time. */
  reset(): void {
    // First what waits for messages of the log, then the log.
    this.push.reset();
    this.faults.clear();
    this.delivery.clear();
    this.schedules.clear();
    this.dayReports.clear();
    this.log = new SendLog(this.options.keepTexts, this.schedules);
    this.account.reset();
    this.calls.reset();
    this.peakInFlight = this.inFlight;
  }

  enter(): void {
    this.inFlight++;
    this.peakInFlight = Math.max(this.peakInFlight, this.inFlight);
  }

  leave(): void {
    this.inFlight--;
  }
}
