import * as specs from '../../src/features/specs/service.ts'
import { act, ago, type Step } from './script.ts'

const first = `# Block store

Books are stored in blocks, one for each chapter.

## Reading
1. The index names the file and offset of each chapter.
2. A chapter that is missing is fetched when it is opened.

## Writing
A block is written to a temporary file and renamed.
`

const second = `# Block store

Books are stored in blocks, one for each chapter.

## Reading
1. The index names the file and offset of each chapter.
2. A chapter that is missing is named on the page. Nothing is fetched while reading.

## Writing
A block is written to a temporary file, synced to disk and renamed.

## Removing
A book is removed as a whole. Its blocks go first, its index last.
`

const third = `# Block store

Books are stored in blocks of one size: 256 KB, the last one less.

## Reading
1. The number of a block is its place in the file, so that no index is needed.
2. A block that is missing is named on the page. Nothing is fetched while reading.

## Writing
A block is written to its place and synced to disk. A bitmap says which ones are there.

## Removing
A book is one file and one bitmap. The bitmap goes first.

## Upgrading
Books of 1.8 are split in place, a book at a time, without a new download.
`

const fourth = `# Block store

Books are stored in blocks of one size: 256 KB, the last one less.

## Reading
1. The number of a block is its place in the file, so that no index is needed.
2. Every block is compared with its checksum. A damaged one counts as missing.
3. A block that is missing is named on the page. Nothing is fetched while reading.

## Writing
A block is written to its place and synced to disk. A bitmap says which ones are there.

## Removing
A book is one file and one bitmap. The bitmap goes first.

## Upgrading
Books of 1.8 are split in place, a book at a time, without a new download. An upgrade that was interrupted goes on with
the book where it stopped.

## Limits
| What | At most |
| --- | --- |
| Size of a book | 4 GB |
| Time to open one | 400 ms on the oldest phone |
| Cost of a checksum | 2 ms a book |
`

const blockStore: Step[] = [
  act(
    ago(32, '10:00'),
    'ada',
    specs.create,
    { title: 'Block store', projectId: 'lantern', content: first, message: 'First draft' },
    'spec blocks',
  ),
  act(ago(24, '10:00'), 'ben', specs.update, (id) => ({
    ref: id('spec blocks'),
    baseVersion: 1,
    content: second,
    status: 'review' as const,
    message: 'Nothing is fetched while reading; how a book is removed',
  })),
  act(ago(8, '13:20'), 'ada', specs.update, (id) => ({
    ref: id('spec blocks'),
    baseVersion: 2,
    content: third,
    message: 'One block size, as decided today',
  })),
  act(ago(3, '09:45'), 'claude', specs.update, (id) => ({
    ref: id('spec blocks'),
    baseVersion: 3,
    content: fourth,
    message: 'Checksums, interrupted upgrades and limits',
  })),
  act(ago(3, '11:30'), 'ada', specs.update, (id) => ({
    ref: id('spec blocks'),
    baseVersion: 4,
    status: 'approved' as const,
    message: 'Read twice, and tried on the oldest phone',
  })),
]

const others: Step[] = [
  act(
    ago(34, '14:00'),
    'ben',
    specs.create,
    {
      title: 'Sync envelope',
      projectId: 'lantern',
      status: 'approved',
      content:
        '# Sync envelope\n\n```json\n{ "v": 1, "id": "…", "device": "…", "clock": "…", "changes": [] }\n```\n\n' +
        'Unknown fields are kept. The order is that of `clock`, then `device`.\n',
    },
    'spec envelope',
  ),
  act(ago(16, '15:10'), 'ada', specs.update, (id) => ({
    ref: id('spec envelope'),
    baseVersion: 1,
    content:
      '# Sync envelope\n\n' +
      '```json\n{ "v": 2, "id": "…", "device": "…", "clock": "…", "changes": [], "sig": "…" }\n```\n\n' +
      'Unknown fields are kept. The order is that of `clock`, then `device`. `sig` is Ed25519 over everything before ' +
      'it; the server refuses an envelope without one.\n',
    message: 'Signed envelopes (LAN-38)',
  })),
  act(
    ago(5, '16:20'),
    'chiara',
    specs.create,
    {
      title: 'Rights on a shelf',
      projectId: 'lantern',
      content:
        '# Rights on a shelf\n\n| | Reader | Keeper | Owner |\n| --- | --- | --- | --- |\n' +
        '| Read, highlight | yes | yes | yes |\n' +
        '| Add a book | no | yes | yes |\n| Remove a book | open | open | yes |\n| Invite | no | no | yes |\n\n' +
        'The open cells wait for a decision (LAN-63).\n',
      message: 'With two open cells',
    },
    'spec rights',
  ),
  act(
    ago(15, '10:10'),
    'ben',
    specs.create,
    {
      title: 'Online backup',
      projectId: 'harbour',
      status: 'review',
      content:
        '# Online backup\n\n' +
        'The store is copied page by page while it serves. Pages that change meanwhile are copied again, ' +
        'at most three times; then writes wait for at most 100 ms.\n',
    },
    'spec backup',
  ),
]

export const specSteps: Step[] = [...blockStore, ...others]
