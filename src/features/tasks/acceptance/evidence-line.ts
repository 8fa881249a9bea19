import { named, quoted } from '../../../text/quoted.ts'
import type { Evidence } from '../../projects/workflow/workflow-schema.ts'
import type { TaskEvidence } from '../schema.ts'

/** Returns the files, commits, pull requests, test runs and links that evidence names. */
export const namedIn = ({ files, commits, pullRequests, testRuns, links }: Evidence): string[] =>
  [files, commits, pullRequests, testRuns, links].flatMap((list) => list ?? [])

/** Returns evidence as one line: its text and items, its level, and its author. */
export const evidenceLine = ({ level, evidence, actor }: TaskEvidence): string =>
  `${quoted([evidence.summary.replaceAll('\n', '; '), ...namedIn(evidence)].join(', '))} (${level}, ${named(actor.name)})`
