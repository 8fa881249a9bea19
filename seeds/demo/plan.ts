import type { PlanCreate } from '../../src/features/planning/schema.ts'
import * as planning from '../../src/features/planning/service.ts'
import { updateEpic } from '../../src/features/stories/epics.ts'
import { updateStory } from '../../src/features/stories/stories.ts'
import { act, ago, type Moment, type Person, type Step } from './script.ts'

type Epics = PlanCreate['epics']

const lantern: Epics = [
  {
    title: 'Offline first',
    description: 'Everything that was downloaded can be read with no network, and the device says what it holds.',
    priority: 'critical',
    stories: [
      { title: 'A book on a plane', description: 'Board, open the book, read to the end.', points: 13 },
      { title: 'Downloads that finish', description: 'A broken download goes on where it stopped.', points: 8 },
      { title: 'Know what is on the device', description: 'No surprise about space or money.', points: 5 },
    ],
  },
  {
    title: 'One shelf, many readers',
    description: 'A shelf belongs to a family, a class or a library, and everybody on it knows what they may do.',
    priority: 'high',
    stories: [
      { title: 'A shelf for a family', points: 8 },
      { title: 'Who may change what', points: 5 },
      { title: 'Bring your books along', points: 5 },
    ],
  },
  {
    title: 'Sync you can trust',
    description: 'Two devices agree, or say plainly that they do not.',
    priority: 'high',
    stories: [
      { title: 'Nothing is lost', points: 13 },
      { title: 'See what happened', points: 5 },
    ],
  },
  {
    title: 'Reads for everyone',
    description: 'For weak eyes, slow hands, old phones and long evenings.',
    stories: [
      { title: 'Large, clear, loud', points: 8 },
      { title: 'Fast on old phones', points: 8 },
    ],
  },
]

const harbour: Epics = [
  {
    title: 'A server that needs no care',
    description: 'One file, one folder, no night shift.',
    priority: 'high',
    stories: [
      { title: 'Backups nobody thinks about', points: 8 },
      { title: 'Fair to every library', points: 5 },
    ],
  },
  {
    title: 'Easy to leave',
    description: 'A library can take its data and go.',
    stories: [{ title: 'Export and import', points: 5 }],
  },
]

/** Creates the epics and stories; tasks are added to the stories as the weeks pass. */
const planned = (at: Moment, by: Person, ref: string, epics: Epics): Step => ({
  at,
  by,
  run: async (ctx, stage) => {
    const tree = await planning.createPlan(ctx, { ref, epics })
    for (const epic of tree.epics) {
      stage.keep(`epic ${epic.title}`, epic.id)
      for (const story of epic.stories) stage.keep(`story ${story.title}`, story.id)
    }
  },
})

const begun = (at: Moment, by: Person, slug: string, title: string): Step =>
  act(at, by, updateEpic, (id) => ({ slug, epicId: id(`epic ${title}`), status: 'in_progress' as const }))

const story = (at: Moment, by: Person, epic: string, title: string, status: 'in_progress' | 'done'): Step =>
  act(at, by, updateStory, (id) => ({
    slug: 'lantern',
    epicId: id(`epic ${epic}`),
    storyId: id(`story ${title}`),
    status,
  }))

export const plans: Step[] = [
  planned(ago(37, '09:30'), 'ada', 'lantern', lantern),
  planned(ago(36, '09:15'), 'ben', 'harbour', harbour),
  begun(ago(34, '09:00'), 'ada', 'lantern', 'Offline first'),
  begun(ago(33, '09:00'), 'ben', 'lantern', 'Sync you can trust'),
  begun(ago(32, '09:00'), 'ben', 'harbour', 'A server that needs no care'),
  begun(ago(27, '09:00'), 'ada', 'lantern', 'One shelf, many readers'),
  begun(ago(26, '09:00'), 'chiara', 'lantern', 'Reads for everyone'),
  story(ago(34, '09:01'), 'ada', 'Offline first', 'A book on a plane', 'in_progress'),
  story(ago(30, '09:00'), 'ben', 'Offline first', 'Downloads that finish', 'in_progress'),
  story(ago(33, '09:01'), 'ben', 'Sync you can trust', 'Nothing is lost', 'in_progress'),
  story(ago(26, '09:01'), 'chiara', 'Reads for everyone', 'Large, clear, loud', 'in_progress'),
  story(ago(3, '17:00'), 'ada', 'One shelf, many readers', 'A shelf for a family', 'done'),
]
