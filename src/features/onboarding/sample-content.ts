import type { DecisionCreate } from '../decisions/schema.ts'
import type { NoteCreate } from '../notes/schema.ts'
import type { PlanCreate } from '../planning/schema.ts'
import type { ProjectCreate } from '../projects/schema.ts'
import type { TaskPatch } from '../tasks/schema.ts'
import type { FeatureCreate } from '../workflow/schema.ts'

/** The sample project: what it contains, and how far its work is. Tasks are named by their titles. */
interface Sample {
  project: ProjectCreate
  epics: PlanCreate['epics']
  changes: Record<string, TaskPatch>
  features: FeatureCreate[]
  notes: NoteCreate[]
  decisions: DecisionCreate[]
}

const queue = 'Queue alerts by region'
const retry = 'Retry a phone that does not respond'
const levels = 'Four levels of alert'
const quiet = 'Quiet hours, except for the highest level'
const measure = 'Measure the time from model run to phone'
const page = 'Show the age of a forecast'

export const sample: Sample = {
  project: {
    name: 'Sample project',
    description: 'The alerts of a fictional weather service, to try Tutti with. Delete it when you are done.',
  },
  epics: [
    {
      title: 'Alerts people can rely on',
      stories: [
        {
          title: 'A storm alert reaches everyone within a minute',
          tasks: [
            {
              title: queue,
              priority: 'high',
              labels: ['alerts'],
              estimate: 3,
              acceptance: ['One slow region does not delay the others'],
            },
            {
              title: retry,
              blockedBy: [queue],
              labels: ['alerts'],
              estimate: 2,
              acceptance: ['At most three times in ten minutes', 'An alert is never shown twice'],
            },
            { title: measure, labels: ['operations'], estimate: 2 },
          ],
        },
        {
          title: 'No one is woken without need',
          tasks: [
            { title: levels, labels: ['alerts'], estimate: 2 },
            { title: quiet, blockedBy: [levels], labels: ['alerts', 'settings'], estimate: 3 },
          ],
        },
      ],
    },
    { title: 'A clearer app', tasks: [{ title: page, priority: 'low', labels: ['app'], estimate: 1 }] },
  ],
  changes: {
    [queue]: {
      status: 'done',
      accepted: [1],
      comment: 'Each region has its own queue. A test delays one region and checks the others.',
    },
    [retry]: { status: 'in_progress', accepted: [1] },
    [levels]: { status: 'in_review', comment: 'Advice, watch, warning, danger. Are these names clear?' },
    [page]: { status: 'backlog' },
  },
  features: [
    {
      title: 'Storm alerts',
      description: 'People in the path of a storm get an alert in time, once, and only if it concerns them.',
      priority: 'high',
      taskIds: [queue, retry, measure],
    },
  ],
  notes: [
    {
      title: 'How alerts work',
      tags: ['architecture'],
      content:
        '# How alerts work\n\n1. The forecast model runs every ten minutes.\n2. Each region with a new alert gets a job in its own queue.\n3. Phones confirm what they have shown; the others are tried again.\n\nAgents read notes such as this one before they begin. Write here what they should know: commands, conventions, traps.',
    },
  ],
  decisions: [
    {
      title: 'A queue for each region',
      context: 'One queue was simple, but a region whose phones respond slowly delayed the alerts of all others.',
      decision: 'Every region has its own queue.',
      rationale: 'The slow case is the storm, when alerts matter most.',
      alternatives: [{ option: 'One queue with more workers', cons: 'A large region can still use all of them' }],
      tags: ['alerts'],
    },
  ],
}
