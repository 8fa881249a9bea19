import { quoteName, quoteText } from '../../../text/quoting.ts'
import type { Evidence } from '../../projects/workflow/workflow-schema.ts'
import type { TaskEvidence } from '../schema.ts'

/** Returns the files, commits, pull requests, test runs and links that evidence names. */
export const itemsIn = ({ files, commits, pullRequests, testRuns, links }: Evidence): string[] =>
  [files, commits, pullRequests, testRuns, links].flatMap((list) => list ?? [])

/** Returns evidence as one line: its text and items, its level, and its author. */
export const evidenceLine = ({ level, evidence, actor }: TaskEvidence): string =>
  `${quoteText([evidence.summary.replaceAll('\n', '; '), ...itemsIn(evidence)].join(', '))} (${level}, ${quoteName(actor.name)})`
