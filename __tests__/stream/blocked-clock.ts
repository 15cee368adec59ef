import { TestClock } from '../transport/test-clock.ts';

/** A clock whose event loop can be blocked: what is due meanwhile comes late. */
export class BlockedClock extends TestClock {
  lateMs: number = 0;

  constructor() {
    super();
    this.now = () => this.frame + this.lateMs;
  }
}
