import type { AgentName } from '../script.ts'

/** Work that an agent repeats: a task of its own, which it reopens when its turn comes again. */
export interface Routine {
  title: string
  description: string
  acceptance: string[]
  /** What the agent does next, stored as the checkpoint of its session. */
  nextStep: string
  /** What the agent comments on its task. */
  comment: string
  /** What the agent says when it completes the task. */
  notes: string
}

/** The label of these tasks. */
export const ROUTINE = 'routine'

export const routines: Record<AgentName, readonly Routine[]> = {
  claude: [
    {
      title: 'Open every book of the test shelf with no network',
      description: 'The shelf has 40 books. Each must open in flight mode, from the first page to the last.',
      acceptance: ['All 40 books open', 'No request leaves the device', 'The slowest book is named'],
      nextStep: 'Open the twelve books with pictures, which are the slow ones',
      comment: '31 of 40 books open. The atlas took 390 ms, so it stays below the limit of 400 ms.',
      notes: 'All 40 books open in flight mode. The atlas is the slowest: 390 ms.',
    },
    {
      title: 'Compare the shelf of Riverbank with its server',
      description: 'Both must list the same books, editions and positions.',
      acceptance: ['The lists of books are equal', 'The editions are equal', 'The positions are equal'],
      nextStep: 'Compare the positions of the readers who were offline last night',
      comment: 'Two readers are ahead of the server by one page. Both are offline, so this is expected.',
      notes: 'Books, editions and positions are equal. Two readers had been offline and are in step now.',
    },
    {
      title: 'Measure how fast a book opens on the oldest phone',
      description: 'Ten books, three runs each. Compare the median with the last measurement.',
      acceptance: ['30 runs are measured', 'The median is compared', 'The result is in the notes'],
      nextStep: 'Repeat the run of the largest book, because the phone was charging',
      comment: 'Median so far: 312 ms. The last measurement was 310 ms.',
      notes: 'Median of 30 runs: 311 ms. No difference to the last measurement.',
    },
  ],
  reviewer: [
    {
      title: 'Read the changes of the day for missing tests',
      description: 'Every changed file in store/ and sync/ needs a test that fails without the change.',
      acceptance: ['store/ is read', 'sync/ is read', 'Missing tests are named'],
      nextStep: 'Read sync/merge.ts, which changed twice today',
      comment: 'store/block.ts:52 handles an empty bitmap, and no test does. Asked Codex for one.',
      notes: 'Read 14 files. One test was missing, for the empty bitmap in store/block.ts.',
    },
    {
      title: 'Check that each error tells the reader what to do',
      description: 'A reader must understand every message of the app without knowing how it works.',
      acceptance: ['Messages of the reader are read', 'Messages of sync are read', 'Unclear ones are listed'],
      nextStep: 'Read the messages that appear when the device is full',
      comment: 'reader/missing.ts:17 says "block unavailable". A reader knows pages, not blocks.',
      notes: 'Read 38 messages. One was unclear: it now names the page and says when to try again.',
    },
  ],
  codex: [
    {
      title: 'Find out why build-1 loses its connection',
      description: 'Every connection ends after 60 seconds. The proxy is the first suspect.',
      acceptance: ['The cause is known', 'A test fails without the fix'],
      nextStep: 'Run the download without the proxy',
      comment: 'The log of the proxy ends before the connection does. Trying again with more detail.',
      notes: 'The proxy closed idle connections after 60 seconds. Its limit is 10 minutes now.',
    },
  ],
}

/** Questions to Ada. Claude asks one when she has answered all others. */
export const questions = [
  'A book without a cover shows its first page instead. Keep that, or draw the title?',
  'The atlas needs 390 ms to open. May it load its maps after the first page is visible?',
  'Two editions have the same number of pages. May a reader switch and keep the position?',
]
