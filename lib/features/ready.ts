/** What needs no service and no device is always ready. */
export abstract class Ready {
  initialize(): Promise<void> {
    return Promise.resolve();
  }

  dispose(): Promise<void> {
    return Promise.resolve();
  }

  isReady(): boolean {
    return true;
  }
}
