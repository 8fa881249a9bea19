import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as work from '../jobs/work.ts'
import { node } from './install.ts'
import { holds, type Peer, type Program } from './peer.ts'

/** Tasks in a file, with dependencies and statuses. What needs a language model (update_task, expand_task) is left out. */

interface Seed {
  title: string
  description?: string
  details?: string
  dependencies?: number[]
  status?: string
}

function seeded({ folder }: Peer, tasks: readonly Seed[]): void {
  const whole = tasks.map((task, n) => ({
    id: n + 1,
    description: task.title,
    status: 'pending',
    dependencies: [],
    priority: 'medium',
    details: '',
    testStrategy: '',
    subtasks: [],
    ...task,
  }))
  writeFileSync(
    join(folder, '.taskmaster/tasks/tasks.json'),
    JSON.stringify({ master: { tasks: whole, metadata: {} } }),
  )
}
const numberOf = (ref: string): number => work.plan.findIndex((task) => task.ref === ref) + 1
const planned = (): Seed[] =>
  work.plan.map(({ title, blockedBy = [] }) => ({ title, dependencies: blockedBy.map(numberOf) }))
const idIn = (text: string): string => /"id": "?(\d+)/.exec(text)?.[1] as string

async function finish(peer: Peer, id: string): Promise<void> {
  const projectRoot = peer.folder
  await peer.call('set_task_status', { projectRoot, id, status: 'in-progress' })
  await peer.call('set_task_status', { projectRoot, id, status: 'done' })
}

export const taskMaster: Program = {
  name: 'Task Master',
  oneProcess: true,
  prepare: (folder) => {
    mkdirSync(join(folder, '.taskmaster/tasks'), { recursive: true })
    // Without this it reports every call to its makers.
    writeFileSync(join(folder, '.taskmaster/config.json'), JSON.stringify({ global: { anonymousTelemetry: false } }))
  },
  command: (folder) => ({
    run: node('task-master-ai/dist/mcp-server.js'),
    env: { TASK_MASTER_TOOLS: 'all', TASK_MASTER_PROJECT_ROOT: folder },
  }),
  jobs: {
    'plan a feature of 12 tasks with 8 dependencies': async (peer) => {
      const projectRoot = peer.folder
      seeded(peer, [])
      for (const { title, blockedBy } of work.plan)
        await peer.call('add_task', {
          projectRoot,
          title,
          description: title,
          ...(blockedBy && { dependencies: blockedBy.map(numberOf).join(',') }),
        })
      holds(await peer.free(() => peer.call('get_tasks', { projectRoot })), ...work.plan.map((task) => task.title))
    },
    'next, start, finish, next, five times': async (peer) => {
      seeded(peer, work.queue)
      const projectRoot = peer.folder
      let next = await peer.call('next_task', { projectRoot })
      for (let n = 0; n < 5; n++) {
        holds(next, work.queue[n]?.title as string)
        await finish(peer, idIn(next))
        next = await peer.call('next_task', { projectRoot })
      }
    },
    'what is blocked and why': async (peer) => {
      seeded(peer, planned())
      holds(await peer.call('get_tasks', { projectRoot: peer.folder, status: 'pending' }), 'dependencies')
    },
    'find one of 120 tasks by words': async (peer) => {
      seeded(peer, work.many)
      holds(await peer.call('get_tasks', { projectRoot: peer.folder }), work.sought.title)
    },
    'two agents take six tasks': async (peer) => {
      seeded(peer, work.queue)
      const projectRoot = peer.folder
      for (let n = 0; n < 6; n++) await finish(peer, idIn(await peer.call('next_task', { projectRoot })))
    },
    'read a task with all that is needed': async (peer) => {
      const { predecessor, task, comment } = work.rich
      seeded(peer, [
        { title: predecessor.title, details: predecessor.notes, status: 'done' },
        {
          title: task.title,
          description: task.description,
          details: `${task.acceptance.join('. ')}. ${comment}`,
          dependencies: [1],
        },
      ])
      const projectRoot = peer.folder
      holds(await peer.call('get_task', { projectRoot, id: '2' }), comment)
      holds(await peer.call('get_task', { projectRoot, id: '1' }), 'it holds the process id')
    },
    'report today’s work': async (peer) => {
      seeded(peer, work.queue)
      const projectRoot = peer.folder
      await peer.free(() => peer.call('set_task_status', { projectRoot, id: '1,2,3,4', status: 'done' }))
      holds(await peer.call('get_tasks', { projectRoot, status: 'done' }), 'updatedAt')
    },
    'split a task in three and finish them': async (peer) => {
      seeded(peer, work.queue.slice(0, 1))
      const projectRoot = peer.folder
      for (const title of work.parts) await peer.call('add_subtask', { projectRoot, id: '1', title })
      await peer.call('set_task_status', { projectRoot, id: '1.1,1.2,1.3', status: 'done' })
    },
    'recover from a wrong id and a wrong status': async (peer) => {
      seeded(peer, work.queue)
      const projectRoot = peer.folder
      await peer.refused('set_task_status', { projectRoot, id: '20', status: 'review' })
      await peer.call('get_tasks', { projectRoot })
      holds(await peer.refused('set_task_status', { projectRoot, id: '6', status: 'reviewing' }), 'review')
      await peer.call('set_task_status', { projectRoot, id: '6', status: 'review' })
    },
  },
}
