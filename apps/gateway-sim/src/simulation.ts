import { Faults } from './faults.ts';
import { type Amount, parseAmount } from './money.ts';
import type { GatewaySimOptions } from './options.ts';
import { SendLog } from './send-log.ts';
import { stateless } from './stateless-pattern.ts';

/** The state of one running simulator: its books, its faults, and what is going on at this moment. */
export class Simulation {
  readonly options: GatewaySimOptions;
  readonly faults: Faults;
  readonly pricePerSegment: Amount;
  readonly balance: Amount | null;
  log: SendLog;
  /** Send requests being answered at present, hanging and held ones included. */
  inFlight = 0;
  /** The most that `inFlight` reached since the start or the last reset. */
  peakInFlight = 0;

  /** @throws RangeError for a price or balance that is no decimal, or shares of faults above 1. */
  constructor(options: GatewaySimOptions) {
    const { invalidMobile, failMobile } = options;
    this.options = {
      ...options,
      invalidMobile: invalidMobile === null ? null : stateless(invalidMobile),
      failMobile: failMobile === null ? null : stateless(failMobile),
    };
    this.faults = new Faults(options.seed, options.faults);
    this.pricePerSegment = parseAmount(options.pricePerSegment);
    this.balance = options.balance === null ? null : parseAmount(options.balance);
    this.log = new SendLog(options.keepTexts);
  }

  /** Forgets everything accepted and every fault set at run time. */
  reset(): void {
    this.faults.clear();
    this.log = new SendLog(this.options.keepTexts);
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
