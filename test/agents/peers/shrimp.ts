import * as work from '../jobs/work.ts'
import { node } from './install.ts'
import { holds, type Peer, type Program } from './peer.ts'

/** Tasks in a file, with dependencies by name and long guidance in every answer. */

const ids = (text: string): string[] => [
  ...new Set([...text.matchAll(/\*\*ID:\*\* `([0-9a-f-]{36})`/g)].map(([, id]) => id as string)),
]
const raw = (tasks: readonly { title: string; description?: string; dependencies?: string[] }[]) => ({
  updateMode: 'append',
  tasksRaw: JSON.stringify(
    tasks.map(({ title, description = title, dependencies = [] }) => ({
      name: title,
      description,
      implementationGuide: description,
      dependencies,
    })),
  ),
})
const titleOf = (ref: string): string => work.plan.find((task) => task.ref === ref)?.title as string
const planned = () => work.plan.map(({ title, blockedBy = [] }) => ({ title, dependencies: blockedBy.map(titleOf) }))
const given = (peer: Peer, tasks: Parameters<typeof raw>[0]) => peer.free(() => peer.call('split_tasks', raw(tasks)))

async function finish(peer: Peer, taskId: string | undefined): Promise<void> {
  await peer.call('execute_task', { taskId })
  await peer.call('verify_task', { taskId, summary: work.doneNote, score: 95 })
}

export const shrimp: Program = {
  name: 'Shrimp',
  command: (folder) => ({
    run: node('mcp-shrimp-task-manager/dist/index.js'),
    env: { DATA_DIR: folder, TEMPLATES_USE: 'en', ENABLE_GUI: 'false' },
  }),
  jobs: {
    'plan a feature of 12 tasks with 8 dependencies': async (peer) => {
      holds(await peer.call('split_tasks', raw(planned())), ...work.plan.map((task) => task.title))
    },
    'next, start, finish, next, five times': async (peer) => {
      await given(peer, work.queue)
      for (let n = 0; n < 5; n++) await finish(peer, ids(await peer.call('list_tasks', { status: 'pending' }))[0])
      await peer.call('list_tasks', { status: 'pending' })
    },
    'what is blocked and why': async (peer) => {
      await given(peer, planned())
      holds(await peer.call('list_tasks', { status: 'pending' }), 'Dependencies')
    },
    'find one of 120 tasks by words': async (peer) => {
      await given(peer, work.many)
      holds(await peer.call('query_task', { query: work.sought.query }), work.sought.title)
    },
    'resume after total loss of context': async (peer) => {
      const [taskId] = ids(await given(peer, work.queue))
      await peer.free(() => peer.call('execute_task', { taskId }))
      const { nextStep, files, branch, openQuestions } = work.checkpoint
      const notes = `${nextStep}. Branch ${branch}, files ${files}. ${openQuestions}`
      await peer.call('update_task', { taskId, notes })
      const [found] = ids(await peer.call('list_tasks', { status: 'in_progress' }))
      holds(await peer.call('get_task_detail', { taskId: found }), nextStep, branch)
    },
    'two agents take six tasks': async (peer) => {
      await given(peer, work.queue)
      for (let n = 0; n < 6; n++) await finish(peer, ids(await peer.call('list_tasks', { status: 'pending' }))[0])
    },
    'hand over half-done work': async (peer) => {
      const [taskId] = ids(await given(peer, work.queue.slice(0, 1)))
      await peer.free(() => peer.call('execute_task', { taskId }))
      await peer.call('update_task', { taskId, notes: work.handover })
      const [found] = ids(await peer.call('list_tasks', { status: 'in_progress' }))
      holds(await peer.call('get_task_detail', { taskId: found }), 'src/db/lock.ts')
      await peer.call('verify_task', { taskId: found, summary: work.doneNote, score: 95 })
    },
    'read a task with all that is needed': async (peer) => {
      const { predecessor, task, comment } = work.rich
      const text = [task.description, ...task.acceptance, comment].join(' ')
      const first = { title: predecessor.title }
      const second = { title: task.title, description: text, dependencies: [predecessor.title] }
      const [before, taskId] = ids(await given(peer, [first, second]))
      await peer.free(async () => {
        await peer.call('execute_task', { taskId: before })
        await peer.call('verify_task', { taskId: before, summary: predecessor.notes, score: 95 })
      })
      holds(await peer.call('get_task_detail', { taskId }), comment)
      holds(await peer.call('get_task_detail', { taskId: before }), 'it holds the process id')
    },
    'report today’s work': async (peer) => {
      const all = ids(await given(peer, work.queue))
      await peer.free(async () => {
        for (const taskId of all.slice(0, 4)) await finish(peer, taskId)
      })
      holds(await peer.call('list_tasks', { status: 'completed' }), work.doneNote)
    },
    'split a task in three and finish them': async (peer) => {
      await given(peer, work.queue.slice(0, 1))
      const made = await peer.call('split_tasks', raw(work.parts.map((title) => ({ title }))))
      for (const taskId of ids(made).slice(-3)) await finish(peer, taskId)
    },
    'recover from a wrong id and a wrong status': async (peer) => {
      await given(peer, work.queue)
      await peer.refused('execute_task', { taskId: '00000000-0000-4000-8000-000000000020' })
      await peer.refused('list_tasks', { status: 'open' })
      const all = ids(await peer.call('list_tasks', { status: 'pending' }))
      await peer.call('execute_task', { taskId: all.at(-1) })
    },
  },
}
