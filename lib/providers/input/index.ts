export * from './buffer-input.ts';
