/** @jest-config-loader esbuild-register */
import type { Config } from 'jest';

const config: Config = {
  testEnvironment: 'node',
  testEnvironmentOptions: { customExportConditions: ['rxvoice-source', 'node', 'node-addons'] },
  roots: ['<rootDir>/lib', '<rootDir>/__tests__'],
  testMatch: ['**/*.spec.ts'],
  // What drives a browser has a run of its own: npm run browser.
  testPathIgnorePatterns: [
    '/node_modules/',
    ...(process.env['RXVOICE_BROWSER'] ? [] : ['<rootDir>/__tests__/browser/']),
  ],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.tsx?$': '<rootDir>/scripts/jest-transform.mjs' },
  // Real sockets and real audio on a busy machine: a hang still ends, a slow test does not fail.
  testTimeout: 30_000,
  testSequencer: '<rootDir>/scripts/spec-sequencer.mjs',
  testRunner: '<rootDir>/scripts/spec-runner.mjs',
  reporters: ['default', '<rootDir>/scripts/slow-specs.mjs'],
  coverageProvider: 'v8',
};

export default config;
