import type { App } from '../../src/services.ts'
import { cast } from './cast.ts'
import { chatSteps } from './chats.ts'
import { copySteps } from './copies.ts'
import { decisionSteps } from './decisions.ts'
import { featureSteps } from './features.ts'
import { harbourTasks } from './harbour.ts'
import { early } from './lantern-early.ts'
import { late } from './lantern-late.ts'
import { memorySteps } from './memories.ts'
import { noteSteps } from './notes.ts'
import { plans } from './plan.ts'
import { play } from './play.ts'
import { programSteps } from './programs.ts'
import { sessionSteps } from './sessions.ts'
import { siteSteps } from './site.ts'
import { specSteps } from './specs.ts'
import { stepsOf } from './tasks.ts'
import { todaySteps } from './today.ts'
import { tunnelSteps } from './tunnels.ts'
import { weekSteps } from './weeks.ts'

/** If several steps have the same moment, those of an earlier file come first. */
const script = [
  ...cast,
  ...plans,
  ...stepsOf({ slug: 'lantern', key: 'LAN' }, [...early, ...late]),
  ...stepsOf({ slug: 'harbour', key: 'HAR' }, harbourTasks),
  ...decisionSteps,
  ...specSteps,
  ...noteSteps,
  ...memorySteps,
  ...sessionSteps,
  ...featureSteps,
  ...siteSteps,
  ...weekSteps,
  ...chatSteps,
  ...tunnelSteps,
  ...programSteps,
  ...copySteps,
  ...todaySteps,
]

/** Plays five weeks of a fictional team, which end now. */
export const playDemo = (app: App): Promise<void> => play(app, script)
