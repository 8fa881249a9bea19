import * as notes from '../../src/features/notes/service.ts'
import { act, ago, type Moment, type Person, type Step } from './script.ts'

interface Text {
  title: string
  content: string
  tags: string[]
  pinned?: true
  scope?: 'team' | 'public' | 'personal'
}

const note = (at: Moment, by: Person, project: string | undefined, text: Text): Step =>
  act(at, by, notes.create, (id) => ({ ...text, ...(project && { projectId: id(project) }) }), `note ${text.title}`)

const lantern: Step[] = [
  note(ago(36, '09:00'), 'ada', 'lantern', {
    title: 'How Lantern is built',
    tags: ['architecture'],
    pinned: true,
    content: `# How Lantern is built

One app, one store on the device, one small server per library ([[How Harbour is run]]).

- **Reader** draws pages. It never asks the network.
- **Store** holds books in blocks of one size. See the spec *Block store*.
- **Sync** carries changes in signed envelopes and never carries pages.

What must stay true is in [[Promises we keep]]. How we work is in [[Definition of done]].`,
  }),
  note(ago(36, '09:40'), 'ada', 'lantern', {
    title: 'Promises we keep',
    tags: ['architecture', 'policy'],
    content: `1. A downloaded book opens with no network.
2. No change of a reader is lost, whatever the network does.
3. Nobody but the reader knows what they read.

A change that breaks one of these needs a decision, not a review.`,
  }),
  note(ago(35, '10:15'), 'ben', 'lantern', {
    title: 'Definition of done',
    tags: ['policy'],
    content: `A task is done when

- its acceptance criteria are ticked,
- a test fails without the change,
- somebody who reads the notes can tell what changed.

Releases follow the [[Release checklist]].`,
  }),
  note(ago(29, '14:30'), 'chiara', 'lantern', {
    title: 'Release checklist',
    tags: ['ops'],
    content: `- [ ] Two hours in flight mode on three phones
- [ ] Upgrade from the oldest version that is still in use
- [ ] Pictures in both themes
- [ ] Release notes, with the skill *Write release notes*
- [ ] Harbour first ([[How Harbour is run]])`,
  }),
  note(ago(14, '17:00'), 'chiara', 'lantern', {
    title: 'Incident: old covers in flight mode',
    tags: ['incident', 'offline'],
    content: `**What readers saw** After an edit in the catalogue, phones without a network showed the old cover.

**Why** The cover cache ignored \`Vary\`, so two editions shared one entry.

**What we changed** The edition is part of the key (LAN-25), and a test fails without it.

**What we learned** Our promise covers covers too: [[Promises we keep]].`,
  }),
  note(ago(8, '15:40'), 'ada', 'lantern', {
    title: 'Interview: a librarian in Riverbank',
    tags: ['research'],
    content: `Talked with Dana for an hour.

- Readers ask "is it on my phone?", never "is it downloaded?".
- The bus to the island has no network for forty minutes. That is our plane.
- She would rather see *why* a download waits than a spinner. That became LAN-43.`,
  }),
  act(ago(4, '12:10'), 'chiara', notes.update, (id) => ({
    ref: id('note Release checklist'),
    content: `- [ ] Two hours in flight mode on three phones
- [ ] Upgrade from the oldest version that is still in use
- [ ] Pictures in both themes
- [ ] Release notes, with the skill *Write release notes*
- [ ] Change the key of one shelf, and change it back
- [ ] Harbour first ([[How Harbour is run]])`,
  })),
]

const harbour: Step[] = [
  note(ago(35, '13:00'), 'ben', 'harbour', {
    title: 'How Harbour is run',
    tags: ['ops', 'docs'],
    scope: 'public',
    content: `# How Harbour is run

One program and one folder.

\`\`\`
harbour serve --folder /srv/library
\`\`\`

Back up the folder with \`harbour backup\`; it may run meanwhile. See [[Limits]] for busy libraries.`,
  }),
  note(ago(17, '14:40'), 'ben', 'harbour', {
    title: 'Limits',
    tags: ['docs'],
    scope: 'public',
    content: `Every library has its own bucket: 600 requests a minute, with bursts of 100. Above that, Harbour
responds with 429 and says how many seconds to wait. Back to [[How Harbour is run]].`,
  }),
]

const elsewhere: Step[] = [
  note(ago(19, '16:50'), 'chiara', 'lantern', {
    title: 'Names we did not choose',
    tags: ['draft'],
    content: 'Candle, Beacon, Shelfmark, Bookworm (taken), Lampion.',
  }),
  // Can be restored for 30 days.
  act(ago(1, '13:30'), 'chiara', notes.remove, (id) => ({ ref: id('note Names we did not choose') })),
  note(ago(34, '08:50'), 'ada', undefined, {
    title: 'How we talk',
    scope: 'team',
    tags: ['team'],
    content: `- Decisions are written down before they are carried out.
- Agents may ask. A question with a task's key is answered the same day.
- We say what we saw, then what we think.`,
  }),
  note(ago(2, '19:30'), 'ada', undefined, {
    title: 'Talk with Ben on Thursday',
    scope: 'personal',
    tags: ['1:1'],
    content:
      '- Would Ben like to lead Harbour 2?\n- Codex on build-1: stalls since the update. Ask before I take tasks over.',
  }),
  note(ago(9, '20:10'), 'ada', undefined, {
    title: 'Books I read with Lantern',
    scope: 'personal',
    tags: ['reading'],
    content: '- *The Summer Book* (on the island, no network: it worked)\n- *Piranesi*\n- *The Dispossessed*, half',
  }),
]

export const noteSteps: Step[] = [...lantern, ...harbour, ...elsewhere]
