import { Type } from '@sinclair/typebox'
import { array, bool, int, object, oneOf, optional, type Static, text, title, WayOut } from '../../../schema.ts'

/** The workflow that a project's features follow. */

export const kinds = ['feature', 'bug', 'hotfix', 'chore', 'test'] as const
export type FeatureKind = (typeof kinds)[number]

const list = (example: string) => optional(array(title(500, { example }), 100))

/** Evidence that an author submits to pass a gate. */
export const Evidence = object({
  summary: title(10_000, { example: 'Folder lock added; a second process exits with a clear line' }),
  files: list('src/db/lock.ts'),
  commits: list('3f98b0f'),
  pullRequests: list('https://git.example.com/tutti/pull/7'),
  tests: optional(
    object({
      command: title(500, { example: 'bun test test/db' }),
      passed: int({ min: 0, example: 214 }),
      failed: int({ min: 0, example: 0 }),
    }),
  ),
  testRuns: list('https://ci.example.com/run/42'),
  links: list('https://docs.example.com/lock'),
})
export type Evidence = Static<typeof Evidence>

const evidenceParts = ['summary', 'files', 'commits', 'pullRequests', 'tests', 'testRuns', 'links'] as const
const stateName = text(63, { pattern: '^[a-z][a-z0-9_]*$', example: 'in_progress' })
export const gateName = text(63, { pattern: '^[a-z][a-z0-9_]*$', example: 'code_complete' })

const Gate = object({
  name: gateName,
  needs: array(
    object({
      anyOf: Type.Array(oneOf(evidenceParts), { minItems: 1, maxItems: evidenceParts.length }),
      what: title(200, { example: 'at least one file path, commit or pull request' }),
      testResult: optional(
        bool({ description: 'Only a test result without failures, or the address of a CI run, counts' }),
      ),
    }),
    10,
  ),
  skipFor: optional(array(oneOf(kinds), kinds.length)),
})

/** `settings.workflow` of a project. A state without a transition out of it closes a feature. */
export const Workflow = object({
  initial: stateName,
  states: array(stateName, 30),
  transitions: array(
    object({
      from: stateName,
      to: stateName,
      by: optional(
        oneOf(['advance', 'approved', 'changes_requested'], {
          description: 'Default: advance; the others are verdicts',
        }),
      ),
      gate: optional(gateName),
    }),
    100,
  ),
  gates: optional(array(Gate, 30)),
})
export type Workflow = Static<typeof Workflow>

export const Missing = object({
  item: text(100, { example: 'evidence.files' }),
  needs: text(500, { example: 'at least one file path, commit or pull request' }),
  call: text(500, { example: 'advance_feature', description: 'The tool that provides it' }),
  next: WayOut,
})
export type Missing = Static<typeof Missing>
