/** Two texts side by side: changed lines with their context, and the changed words in them. */
import { diffWordsWithSpace, structuredPatch } from 'diff'
import { useMemo } from 'react'

const words = {
  same: 'Both texts are the same.',
  tooMany: 'Too many changes to show. The rest is left out.',
  removed: 'removed',
  added: 'added',
}

interface Side {
  n: number
  text: string
}
interface DiffRow {
  kind: 'same' | 'changed' | 'gap'
  before?: Side
  after?: Side
}

const CONTEXT = 3
/** Texts with more edits are shown as replaced: comparing them would take too long. */
const MOST_EDITS = 1000
const MOST_ROWS = 2000
/** Words are compared only in lines that a person reads. */
const LONGEST_LINE = 1000

function diffRows(before: string, after: string): DiffRow[] {
  const patch = structuredPatch('', '', before, after, '', '', { context: CONTEXT, maxEditLength: MOST_EDITS })
  const hunks = patch?.hunks ?? [
    {
      oldStart: 1,
      newStart: 1,
      lines: [...before.split('\n').map((line) => `-${line}`), ...after.split('\n').map((line) => `+${line}`)],
    },
  ]
  return hunks.flatMap((hunk, place) => [...(place > 0 ? [{ kind: 'gap' as const }] : []), ...hunkRows(hunk)])
}

/** Puts removed lines beside those that were added in their place. */
function hunkRows({ oldStart, newStart, lines }: { oldStart: number; newStart: number; lines: string[] }): DiffRow[] {
  const rows: DiffRow[] = []
  let [left, right] = [oldStart, newStart]
  let removed: Side[] = []
  let added: Side[] = []
  const flush = () => {
    for (let i = 0; i < Math.max(removed.length, added.length); i++) {
      const [before, after] = [removed[i], added[i]]
      rows.push({ kind: 'changed', ...(before && { before }), ...(after && { after }) })
    }
    removed = []
    added = []
  }
  for (const line of lines) {
    const text = line.slice(1)
    if (line.startsWith('-')) removed.push({ n: left++, text })
    else if (line.startsWith('+')) added.push({ n: right++, text })
    else if (line.startsWith(' ')) {
      flush()
      rows.push({ kind: 'same', before: { n: left++, text }, after: { n: right++, text } })
    }
  }
  flush()
  return rows
}

interface Props {
  before: string
  after: string
  /** The title above each text. */
  names: readonly [string, string]
  /** What is compared, where a page has several. Default: the names. */
  label?: string
}

export function Diff({ before, after, names, label = names.join(', ') }: Props) {
  const rows = useMemo(() => diffRows(before, after), [before, after])
  if (rows.length === 0) return <p className="soft">{words.same}</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: long lines scroll, and what scrolls must be reachable by keys
    <section className="sdiff" tabIndex={0} aria-label={label}>
      <table>
        <colgroup>
          <col className="ln" />
          <col />
          <col className="ln" />
          <col />
        </colgroup>
        <thead>
          <tr>
            {names.map((name) => (
              <th key={name} colSpan={2} scope="colgroup">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST_ROWS).map((row, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name, and never move
            <Row key={place} row={row} />
          ))}
        </tbody>
      </table>
      {rows.length > MOST_ROWS && <p className="soft pad">{words.tooMany}</p>}
    </section>
  )
}

function Row({ row: { kind, before, after } }: { row: DiffRow }) {
  if (kind === 'gap')
    return (
      <tr className="gap">
        <td colSpan={4}>⋯</td>
      </tr>
    )
  const parts = before && after && kind === 'changed' ? changedWords(before.text, after.text) : undefined
  return (
    <tr className={kind === 'same' ? 'same' : undefined}>
      <td className="ln">{before?.n}</td>
      <td className={kind === 'changed' && before ? 'm' : undefined}>
        {before && kind === 'changed' && <span className="hide">{words.removed} </span>}
        {parts
          ? parts
              .filter(({ added }) => !added)
              .map(({ id, value, removed }) => (removed ? <del key={id}>{value}</del> : <span key={id}>{value}</span>))
          : before?.text}
      </td>
      <td className="ln">{after?.n}</td>
      <td className={kind === 'changed' && after ? 'p' : undefined}>
        {after && kind === 'changed' && <span className="hide">{words.added} </span>}
        {parts
          ? parts
              .filter(({ removed }) => !removed)
              .map(({ id, value, added }) => (added ? <ins key={id}>{value}</ins> : <span key={id}>{value}</span>))
          : after?.text}
      </td>
    </tr>
  )
}

/** The words of two lines; undefined if they have too little in common for that to help. */
function changedWords(before: string, after: string) {
  if (before.length > LONGEST_LINE || after.length > LONGEST_LINE) return undefined
  const parts = diffWordsWithSpace(before, after).map((part, place) => ({ ...part, id: String(place) }))
  const common = parts.filter(({ added, removed }) => !added && !removed).reduce((n, { value }) => n + value.length, 0)
  return common * 2 >= Math.max(before.length, after.length) ? parts : undefined
}
