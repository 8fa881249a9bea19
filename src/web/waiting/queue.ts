/**
 * The edits that wait for the connection. They are sent in order, each with its own Idempotency-Key, so that an edit
 * whose response was lost is not made twice.
 */
import { impersonationToken } from '../account/impersonation.ts'
import { meQuery } from '../account/session.ts'
import { accounts, ok, requestTeam } from '../api.ts'
import { closeToast, toast } from '../components/toasts.tsx'
import { checkConnection, isAway, onLiveAgain } from '../live/state.ts'
import { lastWrittenVersion } from '../live/written-versions.ts'
import { isProblem, isTemporary } from '../problem.ts'
import { onSessionEnd, queryClient } from '../query-client.ts'
import { NothingToUndo, refreshTasks, rememberUndo, undoOnServer } from '../undo.ts'
import { findConflicts, type Values } from './conflicts.ts'
import { setSignInElsewhere } from './session-end.ts'
import { type Attempt, countWaiting, type WaitingEdit, waitingEdits } from './waiting-edits.tsx'
import { words } from './words.ts'

/** What the server returned for an edit: the id by which it undoes it. */
interface Sent {
  changeId?: string | undefined
}

export interface Edit extends Omit<WaitingEdit, 'key' | 'refusal'> {
  /** Shows the edit in the loaded data. Called again whenever the record was loaded. */
  show(): void
  /** Shows the values from before the edit. */
  hide(): void
  /** The fields that a change of someone else would conflict with: their values before the edit and after it. */
  before: Values
  after: Values
  /** The version that the edit is based on. A comment has none. */
  version?: number
  send(headers: Record<string, string>, version: number): Promise<Sent>
  /** Returns the record as it is now, after the server refused the version (412). */
  read(headers: Record<string, string>): Promise<Values & { version: number }>
}

interface Entry extends Edit, Attempt {
  refusal?: string | undefined
  /** The user and the team that the edit belongs to, and the token if an administrator acts as the user. */
  userId: string | undefined
  team: string | undefined
  token: string | undefined
  /** The server undoes all edits with this key as one change. */
  changeKey: string
  changeId?: string | undefined
  /** Someone else changed the same fields. */
  isConflict?: boolean
  /** The edit replaces what someone else wrote. */
  isForced?: boolean
  /** How often the server failed (5xx) since the edit was made or tried again. */
  serverFailures?: number
}

const MOST = 100
const MOST_SERVER_FAILURES = 5
/** Pauses after a failure of the server or of the network, in milliseconds. The last one repeats. */
const PAUSES = [1000, 2000, 4000, 8000, 15_000]

let entries: readonly Entry[] = []
let stopShowing: (() => void) | undefined

const askBeforeLeaving = (event: BeforeUnloadEvent) => event.preventDefault()

function setEntries(next: readonly Entry[]): void {
  entries = next
  waitingEdits.set([...next])
  if (next.length > 0) addEventListener('beforeunload', askBeforeLeaving)
  else removeEventListener('beforeunload', askBeforeLeaving)
  const waits = countWaiting(next) > 0
  // What is loaded may still be without the edits, which are shown again.
  if (waits) stopShowing ??= onLoaded(showAll)
  else {
    stopShowing?.()
    stopShowing = undefined
  }
}

const onLoaded = (run: () => void) =>
  queryClient.getQueryCache().subscribe((event) => {
    if (event.type === 'updated' && event.action.type === 'success' && !event.action.manual) run()
  })

function showAll(): void {
  for (const edit of entries) if (edit.refusal === undefined) edit.show()
}

/** Edits have to wait without a connection, and behind edits of the same user that wait. */
export const mustWait = (): boolean => isAway() || nextEntry() !== undefined

/** Asks whether the edits that the server does not have may be lost. */
export function confirmLoss(): boolean {
  const isSure = confirm(words.loseAll(entries.length))
  if (isSure) setEntries([])
  return isSure
}

let stopAsking: (() => void) | undefined

setSignInElsewhere((address) => {
  if (entries.length === 0) return false
  if (stopAsking || impersonationToken()) return true
  const id = 'session ended'
  toast({
    id,
    title: words.sessionEnded,
    text: words.signInElsewhere,
    stays: true,
    action: { label: words.signIn, run: () => void window.open(address) },
  })
  stopAsking = onLoaded(() => {
    stopAsking?.()
    stopAsking = undefined
    closeToast(id)
    void sendAll()
  })
  return true
})

/** Throws if there is no room for so many more edits. */
export function requireRoom(n: number): void {
  const room = MOST - entries.length
  if (n > room) throw new Error(words.full(MOST, room))
}

/** Lets edits wait. ⌘Z takes them back together. */
export function waitForConnection(title: string, edits: readonly Edit[], { key, wasSent, sentVersion }: Attempt): void {
  const userId = queryClient.getQueryData(meQuery.queryKey)?.id
  const belongsTo = { userId, team: requestTeam(), token: impersonationToken(), changeKey: key }
  const added = edits.map((edit, place) => ({
    ...edit,
    ...belongsTo,
    key: place === 0 ? key : `${key}-${place}`,
    wasSent,
    sentVersion: place === 0 ? sentVersion : undefined,
  }))
  setEntries([...entries, ...added])
  for (const edit of added) edit.show()
  rememberUndo(title, () => takeBack(added))
  if (wasSent) checkConnection()
  void sendAll()
}

// ---- sending

let isSending = false
let failures = 0
let timer: ReturnType<typeof setTimeout> | undefined

onLiveAgain(() => void sendAll())

const nextEntry = (): Entry | undefined =>
  entries.find(({ refusal, token }) => refusal === undefined && token === impersonationToken())

export async function sendAll(): Promise<void> {
  clearTimeout(timer)
  if (isSending || !nextEntry() || isAway()) return
  isSending = true
  const sent = (await refuseEditsOfOthers()) ? await sendWaiting() : sendLater()
  isSending = false
  if (sent === 0) return
  toast({ title: words.sent(sent) })
  await refreshTasks()
}

async function sendWaiting(): Promise<number> {
  let sent = 0
  for (let edit = nextEntry(); edit && !isAway(); edit = nextEntry()) {
    const outcome = await sendOne(edit)
    if (outcome === 'later') return sendLater(sent)
    failures = 0
    if (outcome === 'sent') sent++
  }
  return sent
}

function sendLater(sent = 0): number {
  timer = setTimeout(() => void sendAll(), PAUSES[Math.min(failures++, PAUSES.length - 1)])
  return sent
}

/**
 * Refuses the edits of a user who is no longer signed in: another one may have signed in meanwhile, in another tab.
 * Returns false if the server does not say who is signed in.
 */
async function refuseEditsOfOthers(): Promise<boolean> {
  try {
    const { id } = await ok(accounts.auth.me.get())
    for (const edit of entries)
      if (edit.userId !== id && edit.token === impersonationToken() && edit.refusal === undefined) refuseForGood(edit)
    return true
  } catch (error) {
    onSessionEnd(error)
    return false
  }
}

const headersOf = ({ key, changeKey, team }: Entry): Record<string, string> => ({
  'idempotency-key': key,
  'x-change-key': changeKey,
  ...(team && { 'x-organization-id': team }),
})

/** A request that always makes the server fail must not hold up the edits behind it. */
function failsTooOften(edit: Entry, error: unknown): boolean {
  if (isProblem(error) && error.status >= 500) edit.serverFailures = (edit.serverFailures ?? 0) + 1
  return (edit.serverFailures ?? 0) >= MOST_SERVER_FAILURES
}

async function sendOne(edit: Entry): Promise<'sent' | 'refused' | 'later'> {
  const headers = headersOf(edit)
  for (let attempt = 1; !edit.isConflict || edit.isForced; attempt++) {
    if (edit.token !== impersonationToken()) return edit.token ? refuseForGood(edit) : 'later'
    edit.wasSent = true
    try {
      // The edit before it may have been answered with a newer version than the page had.
      edit.sentVersion ??= Math.max(edit.version ?? 0, lastWrittenVersion(edit.recordId))
      edit.changeId = (await edit.send(headers, edit.sentVersion)).changeId
      setEntries(entries.filter((one) => one !== edit))
      return 'sent'
    } catch (error) {
      const isOutdated = isProblem(error) && error.status === 412
      if (isOutdated) edit.sentVersion = undefined
      const failure = isOutdated && attempt < 4 ? await rebase(edit, headers) : error
      onSessionEnd(failure)
      if (isTemporary(failure) && !failsTooOften(edit, failure)) return 'later'
      if (failure) return refuse(edit, (failure as Error).message)
    }
  }
  return refuse(edit, words.conflict)
}

/** Bases all waiting edits of the record on its current version. Returns why the record could not be read. */
async function rebase({ recordId, read }: Entry, headers: Record<string, string>): Promise<unknown> {
  try {
    const theirs = await read(headers)
    const edits = entries.filter((one) => one.recordId === recordId && one.refusal === undefined)
    findConflicts(edits, theirs)
    for (const edit of edits) edit.version = theirs.version
    return undefined
  } catch (error) {
    return error
  }
}

function refuse(edit: Entry, refusal: string): 'refused' {
  edit.refusal = refusal
  edit.hide()
  setEntries(entries)
  // Other edits of the same record still wait.
  showAll()
  void refreshTasks()
  return 'refused'
}

function refuseForGood(edit: Entry): 'refused' {
  edit.isFinal = true
  return refuse(edit, words.otherUser)
}

/** The administrator no longer acts as a user, whose edits cannot be sent any more. Their own go on. */
export function endImpersonation(): void {
  for (const edit of entries)
    if (edit.token && edit.token !== impersonationToken() && edit.refusal === undefined) refuseForGood(edit)
  void sendAll()
}

// ---- what people do with edits that wait or were refused

/** Sends a refused edit again. After an edit conflict, it replaces what someone else wrote. */
export function tryAgain(key: string): void {
  const edit = entries.find((one) => one.key === key)
  if (!edit) return
  edit.refusal = undefined
  edit.serverFailures = 0
  edit.isForced = edit.isConflict === true
  edit.show()
  setEntries(entries)
  void sendAll()
}

export function discard(keys: ReadonlySet<string>): void {
  const gone = entries.filter(({ key }) => keys.has(key))
  setEntries(entries.filter((edit) => !gone.includes(edit)))
  for (const edit of gone.toReversed()) edit.hide()
  showAll()
}

/** Undoes edits: those that were not sent are removed, and the server undoes the others. */
async function takeBack(edits: readonly Entry[]): Promise<unknown> {
  const waiting = edits.filter((edit) => entries.includes(edit))
  if (waiting.some(({ wasSent, refusal }) => wasSent && refusal === undefined)) throw new Error(words.maybeSent)
  discard(new Set(waiting.map(({ key }) => key)))
  const sent = edits.find((edit) => !waiting.includes(edit))
  if (!sent) return undefined
  // A comment cannot be undone. Without an id, the server would undo another change.
  if (!sent.changeId) throw new NothingToUndo()
  return undoOnServer(sent.changeId)
}
