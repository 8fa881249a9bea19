import * as work from '../jobs/work.ts'
import { node } from './install.ts'
import { holds, type Peer, type Program } from './peer.ts'

/** Lists of tasks, each done and then approved, without dependencies. */

const requestId = 'req-1'
const given = (peer: Peer, tasks: readonly work.Written[]) =>
  peer.free(() => peer.call('request_planning', { originalRequest: work.feature, tasks }))
const taskIn = (text: string): string => /"id": "(task-\d+)"/.exec(text)?.[1] as string

async function finish(peer: Peer, taskId: string): Promise<void> {
  await peer.call('mark_task_done', { requestId, taskId, completedDetails: work.doneNote })
  await peer.call('approve_task_completion', { requestId, taskId })
}

export const kazuph: Program = {
  name: 'kazuph’s task manager',
  command: (folder) => ({
    run: node('@kazuph/mcp-taskmanager/dist/index.js'),
    env: { TASK_MANAGER_FILE_PATH: `${folder}/tasks.json` },
  }),
  jobs: {
    'next, start, finish, next, five times': async (peer) => {
      await given(peer, work.queue)
      for (let n = 0; n < 5; n++) await finish(peer, taskIn(await peer.call('get_next_task', { requestId })))
      await peer.call('get_next_task', { requestId })
    },
    'find one of 120 tasks by words': async (peer) => {
      await given(peer, work.many)
      holds(await peer.call('get_next_task', { requestId }), work.sought.title)
    },
    'two agents take six tasks': async (peer) => {
      await given(peer, work.queue)
      for (let n = 0; n < 6; n++) await finish(peer, taskIn(await peer.call('get_next_task', { requestId })))
    },
    'hand over half-done work': async (peer) => {
      await given(peer, work.queue.slice(0, 1))
      const description = `${work.queue[0]?.description} ${work.handover}`
      await peer.call('update_task', { requestId, taskId: 'task-1', description })
      const next = await peer.call('get_next_task', { requestId })
      holds(next, 'src/db/lock.ts')
      await finish(peer, taskIn(next))
    },
    'split a task in three and finish them': async (peer) => {
      await given(peer, work.queue.slice(0, 1))
      const tasks = work.parts.map((title) => ({ title, description: title }))
      await peer.call('add_tasks_to_request', { requestId, tasks })
      for (const taskId of ['task-2', 'task-3', 'task-4']) await finish(peer, taskId)
    },
  },
}
