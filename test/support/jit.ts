/**
 * Environment of a Bun program in which JavaScript is optimised ten times later, and not by the slowest compiler. In
 * one that runs for a second it saves an eighth of the CPU time, in a process of tests, which runs most code a few
 * times, a fifth.
 */
export const optimisedLater = {
  BUN_JSC_thresholdForOptimizeAfterWarmUp: '10000',
  BUN_JSC_thresholdForOptimizeAfterLongWarmUp: '10000',
  BUN_JSC_thresholdForOptimizeSoon: '10000',
  BUN_JSC_useFTLJIT: '0',
}
