import type { Copy } from './copy.ts'
import type { Row } from './mutation.ts'

/** The version of the record shapes that this program understands: a date, like X-API-Version. */
export const SCHEMA = '2026-11-16'

/** One changed record in a page. A link is in the containers of both its ends. */
export interface Change {
  entity: string
  id: string
  op: 'put' | 'delete'
  container?: string
  containers?: string[]
  version?: number
  record?: Row
}

export interface Receipt {
  mutationId: string
  status: 'applied' | 'merged' | 'conflict' | 'rejected'
  conflicts?: string[]
  code?: string
  detail?: string
  key?: string
}

export interface Page {
  epoch: string
  forget: string[]
  changes: Change[]
  receipts: Receipt[]
  cursor: string
  hasMore: boolean
  /** Count, and sum of the first 32 bits of md5(id:version), of each container. Only on some last pages. */
  check?: { container: string; count: number; sum: number }[]
}

export interface AppliedPage {
  changed: number
  deleted: number
  settled: number
}

/** Stores a page with its cursor in one transaction, so that a page counts completely or not at all. */
export function applyPage(copy: Copy, page: Page, fresh: boolean): AppliedPage {
  return copy.change(() => {
    const touched = new Map<string, [entity: string, id: string]>()
    const touch = (entity: string, id: string) => void touched.set(`${entity} ${id}`, [entity, id])
    if (fresh) beginFresh(copy, touch)
    for (const container of page.forget) forgetContainer(copy, container, touch)
    for (const change of page.changes) storeChange(copy, change, touch)
    const settled = page.receipts.filter((receipt) => settleMutation(copy, receipt, touch)).length
    copy.set('cursor', page.cursor)
    copy.set('epoch', page.epoch)
    if (!page.hasMore) finishPull(copy, touch)
    for (const [entity, id] of touched.values()) copy.refresh(entity, id)
    const deleted = page.changes.filter(({ op }) => op === 'delete').length
    return { changed: page.changes.length - deleted, deleted, settled }
  })
}

const clearRecord = 'update records set shadow = null, version = 0, container = null, container2 = null'

type Touch = (entity: string, id: string) => void

/**
 * Starts over: what was pulled is dropped, while queued changes stay. Those that the server has judged by now are part
 * of the records that follow, so they are settled when the last page is there, whether or not receipts come with it.
 */
function beginFresh(copy: Copy, touch: Touch): void {
  for (const { entity, id } of copy.all<Row & { entity: string }>('select entity, id from queue')) touch(entity, id)
  copy.run("insert into words (words) values ('delete-all')")
  copy.run('delete from records where n not in (select r.n from records r join queue using (entity, id))')
  copy.run(clearRecord)
  copy.run('delete from containers')
  copy.set('complete', undefined)
  const judged = copy.queue('acked').at(-1)
  copy.set('judgedBefore', judged?.seq.toString())
}

function finishPull(copy: Copy, touch: Touch): void {
  copy.set('complete', 'yes')
  copy.set('pulledAt', new Date().toISOString())
  const before = copy.get('judgedBefore')
  if (before === undefined) return
  copy.set('judgedBefore', undefined)
  const judged = copy.queue('acked').filter(({ seq }) => seq <= Number(before))
  for (const { mutationId, entity, id } of judged) {
    copy.run('delete from queue where mutationId = ?', mutationId)
    touch(entity, id)
  }
}

function forgetContainer(copy: Copy, container: string, touch: Touch): void {
  const held = copy.all<Row & { entity: string }>(
    'select entity, id from records where container = ?1 or container2 = ?1',
    container,
  )
  copy.run(`${clearRecord} where container = ?1 or container2 = ?1`, container)
  copy.run('delete from containers where name = ?', container)
  for (const { entity, id } of held) touch(entity, id)
}

/** Returns the comments on a record, and what connects it with others: they go with it. */
const findDependents = (copy: Copy, id: string): (Row & { entity: string })[] =>
  copy.all(
    `select entity, id from records where entity in ('comment', 'discussion', 'link', 'dependency')
     and ?1 in (shadow ->> 'taskId', shadow ->> 'decisionId', shadow ->> 'blockedById', shadow ->> 'fromId',
       shadow ->> 'toId')`,
    id,
  )

function storeChange(
  copy: Copy,
  { entity, id, op, container, containers, version = 1, record }: Change,
  touch: Touch,
): void {
  const [first, second] = containers ?? [container]
  const old = copy.one<{ container: string | null; container2: string | null; version: number; shadow: string | null }>(
    'select container, container2, version, shadow from records where entity = ? and id = ?',
    entity,
    id,
  )
  const there = old?.shadow != null
  if (op === 'delete') {
    // A record that has moved to another container is deleted only in the one that it left.
    if (!there || (first !== undefined && old.container !== first && old.container2 !== first)) return
    copy.run(`${clearRecord} where entity = ? and id = ?`, entity, id)
    for (const hanging of findDependents(copy, id)) {
      copy.run(`${clearRecord} where entity = ? and id = ?`, hanging.entity, hanging.id)
      touch(hanging.entity, hanging.id)
    }
  } else {
    if (there && old.version > version) return
    copy.run(
      `insert into records (entity, id, container, container2, version, shadow) values (?1, ?2, ?3, ?4, ?5, ?6)
       on conflict (entity, id) do update set container = ?3, container2 = ?4, version = ?5, shadow = ?6`,
      entity,
      id,
      first ?? null,
      second ?? null,
      version,
      JSON.stringify(record),
    )
    if (first !== undefined) copy.run('insert or ignore into containers values (?)', first)
  }
  touch(entity, id)
}

/** Takes a change out of the queue. Returns whether it was in it. A rejected one is kept for the user. */
function settleMutation(copy: Copy, receipt: Receipt, touch: Touch): boolean {
  const { mutationId, status, code = 'invalid', detail = 'The server refused the change.' } = receipt
  const now = new Date().toISOString()
  copy.run('insert or replace into receipts values (?, ?, ?, ?)', mutationId, status, JSON.stringify(receipt), now)
  const queued = copy.one<Row & { entity: string }>('select entity, id from queue where mutationId = ?', mutationId)
  if (!queued) return false
  if (status === 'rejected')
    copy.run(
      `insert or replace into rejected select mutationId, entity, id, op, fields, base, at, via, creates, ?, ?, ?
       from queue where mutationId = ?`,
      code,
      detail,
      now,
      mutationId,
    )
  copy.run('delete from queue where mutationId = ?', mutationId)
  touch(queued.entity, queued.id)
  return true
}

/** Marks changes as judged, after a push. They stay on top of the records until a pull settles them. */
export function acknowledgeReceipts(copy: Copy, receipts: readonly Receipt[]): void {
  copy.change(() => {
    for (const receipt of receipts)
      if (receipt.status === 'rejected') settleMutation(copy, receipt, (entity, id) => copy.refresh(entity, id))
      else copy.run("update queue set state = 'acked' where mutationId = ?", receipt.mutationId)
  })
}
