export function bringChromium(): string | undefined;
export function bringEngines(): void;
