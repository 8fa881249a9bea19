import type { Row } from '../mutation.ts'
import { asText, type CopyView } from './copy-view.ts'

/** Returns the number that the server gave, or the name that this device gave until then: `MY-~3f2a`. */
export function taskKey(world: CopyView, row: Row): string {
  const project = asText(world.copy.find('project', asText(row.projectId))?.key) || '~'
  if (typeof row.number === 'number') return `${project}-${row.number}`
  return localTaskKey(world, project, row.id)
}

const SHORTEST = 4

/** Names a task by the end of its id. The name is stored, so it also finds the task when the server has numbered it. */
function localTaskKey({ copy }: CopyView, project: string, id: string): string {
  const known = copy.one<{ name: string }>("select name from names where entity = 'task' and id = ?", id)?.name
  const ending = known?.split('~').at(-1)
  if (ending) return `${project}-~${ending}`
  const digits = id.replaceAll('-', '')
  for (let length = SHORTEST; ; length++) {
    const name = `${project}-~${digits.slice(-length)}`
    const taken = copy.one('select 1 from names where name = ?', name.toLowerCase())
    if (taken && length < digits.length) continue
    copy.run('insert or ignore into names values (?, ?, ?)', name.toLowerCase(), 'task', id)
    return name
  }
}
