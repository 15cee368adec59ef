// Chapter 4 of the tutorial: its own tests, as a reader runs them.
await import('../../../samples/tutorial/4-provider/morse-tts.test.ts');
