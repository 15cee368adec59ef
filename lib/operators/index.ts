export * from './capture.ts';
export * from './pace.ts';
export * from './paced-output.ts';
export * from './playout.ts';
