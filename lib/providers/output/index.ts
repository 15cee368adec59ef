export * from './null-output.ts';
