import { commentOnDecision } from '../../src/features/decisions/comments.ts'
import * as decisions from '../../src/features/decisions/service.ts'
import { act, ago, minutesAgo, type Step } from './script.ts'

const settled: Step[] = [
  act(
    ago(36, '14:00'),
    'ada',
    decisions.create,
    {
      title: 'The reader never asks the network',
      projectId: 'lantern',
      context: 'Three code paths opened a book, and two of them waited for a server that might not be there.',
      decision: 'The reader opens the local copy. Fetching is another part of the app, with another error page.',
      rationale: 'A path that is used every day on every device is a path that works on a plane.',
      alternatives: [
        {
          option: 'Network first with a timeout',
          cons: 'Slow whenever the network is bad, which is when it matters',
        },
      ],
      tags: ['offline'],
    },
    'decision local',
  ),
  act(
    ago(33, '09:30'),
    'ben',
    decisions.create,
    {
      title: 'Blocks follow the chapters of a book',
      projectId: 'lantern',
      decision: 'A block is a chapter. The index of the book says where each begins.',
      rationale: 'A chapter is what people read, so it is what they miss.',
      tags: ['offline', 'format'],
    },
    'decision chapters',
  ),
  act(ago(22, '16:00'), 'codex', commentOnDecision, (id) => ({
    ref: id('decision chapters'),
    body: 'Measured on 4,000 books: the largest chapter has 38 MB, the median 41 KB. A resume needs the index first.',
  })),
  act(
    ago(8, '10:02'),
    'ben',
    decisions.create,
    (id) => ({
      title: 'Blocks have one size, 256 KB',
      projectId: 'lantern',
      context: 'A broken download needs the index before it can go on, and the index may be what is missing.',
      decision: 'Every block has 256 KB, the last one less. The number of a block is its place in the file.',
      rationale: 'Resume needs no index. A checksum costs 2 ms a book.',
      alternatives: [
        { option: 'Chapters, as now', cons: 'Sizes differ by a factor of a thousand' },
        { option: '1 MB', cons: 'Too much to fetch twice on a slow link' },
      ],
      tags: ['offline', 'format'],
      supersedes: id('decision chapters'),
    }),
    'decision blocks',
  ),
  act(ago(8, '10:40'), 'ada', commentOnDecision, (id) => ({
    ref: id('decision blocks'),
    body: 'Agreed. I will change the spec today; LAN-36 has not started, so nothing is thrown away.',
  })),
  act(ago(8, '11:05'), 'claude', commentOnDecision, (id) => ({
    ref: id('decision blocks'),
    body: 'With 256 KB the index of the largest book we have shrinks from 92 KB to nothing.',
  })),
  act(ago(1, '10:00'), 'ben', decisions.update, (id) => ({
    ref: id('decision blocks'),
    outcome: 'After a week: 40 broken downloads out of 40 went on with at most one block fetched twice.',
  })),
  act(
    ago(26, '11:10'),
    'ada',
    decisions.create,
    {
      title: 'No background fetch on metered links',
      projectId: 'lantern',
      decision: 'On a metered link nothing larger than a cover is fetched unless the reader asks for it.',
      rationale: 'A free app that costs money is not free.',
      tags: ['offline', 'network'],
    },
    'decision metered',
  ),
  act(
    ago(24, '15:15'),
    'ben',
    decisions.create,
    {
      title: 'Highlights are a set that only grows',
      projectId: 'lantern',
      context: 'Two devices removed and added the same highlight, and the result depended on who came first.',
      decision: 'Adding and removing are both changes that are kept. What is shown is computed from them.',
      tags: ['sync'],
    },
    'decision highlights',
  ),
  act(
    ago(20, '10:30'),
    'chiara',
    decisions.create,
    {
      title: 'Tap zones can be mirrored',
      projectId: 'lantern',
      decision: 'One switch mirrors the zones for left-handed readers.',
      status: 'proposed',
      tags: ['accessibility'],
    },
    'decision zones',
  ),
  act(ago(18, '12:00'), 'ada', commentOnDecision, (id) => ({
    ref: id('decision zones'),
    body: 'Two of five readers turned it on by accident and thought the app was broken. A gesture would be safer.',
  })),
  act(ago(17, '09:30'), 'chiara', decisions.update, (id) => ({
    ref: id('decision zones'),
    status: 'rejected' as const,
    outcome: 'Rejected after the test with five readers. The volume keys (LAN-18) help the same people.',
  })),
  act(ago(37, '11:30'), 'ada', decisions.create, {
    title: 'We write decisions down',
    decision: 'Whatever would surprise somebody who comes back from a week off is a decision in Tutti.',
    rationale: 'Agents start every morning like somebody who comes back from a week off.',
    tags: ['team'],
  }),
  act(ago(28, '13:45'), 'ben', decisions.create, {
    title: 'Harbour is one folder',
    projectId: 'harbour',
    decision: 'Data, keys and settings live in one folder that can be copied.',
    alternatives: ['A database server beside it'],
    tags: ['ops'],
  }),
]

const open: Step[] = [
  act(
    ago(4, '11:00'),
    'ben',
    decisions.create,
    {
      title: 'Keep three backups, not seven',
      projectId: 'harbour',
      decision: 'Keep the last three backups that were read back successfully.',
      rationale: 'A backup that was checked is worth more than four that were not.',
      status: 'proposed',
      tags: ['backup'],
    },
    'decision backups',
  ),
  act(
    minutesAgo(38),
    'chiara',
    decisions.create,
    {
      title: 'Removing a book from a shared shelf',
      projectId: 'lantern',
      context:
        'Families share a shelf. When somebody removes a book, it disappears for everybody, and once it was the book ' +
        'that a child was reading.',
      decision: 'Only the person who added a book, and owners of the shelf, may remove it.',
      alternatives: [
        { option: 'Everybody may, with an undo of 30 days', cons: 'Simple, but a surprise every time' },
        { option: 'A book disappears when nobody reads it any more', cons: 'Kind, but nobody will understand it' },
      ],
      status: 'proposed',
      tags: ['sync', 'shelf'],
    },
    'decision removing',
  ),
  act(minutesAgo(37), 'chiara', commentOnDecision, (id) => ({
    ref: id('decision removing'),
    body: 'Three options. Ben and I lean to the first; @ada, yours is the last voice, and LAN-65 waits for it.',
  })),
  act(minutesAgo(33), 'ben', commentOnDecision, (id) => ({
    ref: id('decision removing'),
    body: 'The first is also the only one that the server can check without knowing who reads what.',
  })),
]

export const decisionSteps: Step[] = [...settled, ...open]
