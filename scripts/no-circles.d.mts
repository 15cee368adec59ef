export function circleOf(file: string): string[] | undefined;
