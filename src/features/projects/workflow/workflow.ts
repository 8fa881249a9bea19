import { check } from '../../../check.ts'
import type { FieldError, WayOut } from '../../../errors.ts'
import { quoteText } from '../../../text/quoting.ts'
import { type Evidence, type FeatureKind, type Missing, Workflow } from './workflow-schema.ts'

/** The workflow engine: decides which step a feature may take next and what it needs. It does not use the database. */

export const defaultWorkflow: Workflow = {
  initial: 'todo',
  states: ['todo', 'in_progress', 'in_testing', 'in_docs', 'in_review', 'needs_edits', 'done'],
  transitions: [
    { from: 'todo', to: 'in_progress' },
    { from: 'needs_edits', to: 'in_progress' },
    { from: 'in_progress', to: 'in_testing', gate: 'code_complete' },
    { from: 'in_testing', to: 'in_docs', gate: 'test_complete' },
    { from: 'in_docs', to: 'in_review', gate: 'docs_complete' },
    { from: 'in_review', to: 'done', by: 'approved' },
    { from: 'in_review', to: 'needs_edits', by: 'changes_requested' },
  ],
  gates: [
    {
      name: 'code_complete',
      needs: [
        { anyOf: ['summary'], what: 'what changed' },
        { anyOf: ['files', 'commits', 'pullRequests'], what: 'at least one file path, commit or pull request' },
      ],
    },
    {
      name: 'test_complete',
      needs: [
        { anyOf: ['summary'], what: 'the results' },
        {
          anyOf: ['tests', 'testRuns', 'links'],
          what: 'a test result { command, passed ≥ 1, failed: 0 } or the address of a CI run',
          testResult: true,
        },
      ],
    },
    {
      name: 'docs_complete',
      needs: [{ anyOf: ['files', 'links'], what: 'at least one document: its path or URL' }],
      skipFor: ['bug', 'hotfix', 'chore', 'test'],
    },
  ],
}

type Transition = Workflow['transitions'][number]
export type Verdict = 'approved' | 'changes_requested'
export type Move = { by: 'advance'; to?: string; evidence?: Evidence } | { by: Verdict }

const REVIEW = 'review'
const triggerOf = ({ by = 'advance' }: Transition) => by

/** Returns the project's own workflow, or the default if there is none or the stored one is invalid. */
export function workflowOf({ settings }: { settings: Record<string, unknown> }): Workflow {
  const own = settings.workflow
  return own !== undefined && workflowProblems(own).length === 0 ? (own as Workflow) : defaultWorkflow
}

export const isClosed = ({ transitions }: Workflow, state: string): boolean =>
  transitions.every((t) => t.from !== state)
/** A feature in this state waits at a gate or for a verdict. */
export const isAtGate = ({ transitions }: Workflow, state: string): boolean =>
  transitions.some((t) => t.from === state && (t.gate !== undefined || triggerOf(t) === 'approved'))
/** A feature in this state waits for a verdict. */
export const isInReview = ({ transitions }: Workflow, state: string): boolean =>
  transitions.some((t) => t.from === state && triggerOf(t) === 'approved')

/** Returns the errors of a workflow; their pointers are relative to it. */
export function workflowProblems(value: unknown): FieldError[] {
  const shape = check(Workflow, value)
  if (shape.length > 0) return shape
  const { initial, states, transitions, gates = [] } = value as Workflow
  const problems: FieldError[] = []
  const report = (pointer: string, message: string) => void problems.push({ pointer, code: 'invalid', message })
  const known = new Set(states)
  const gateNames = new Set(gates.map((gate) => gate.name))
  if (known.size !== states.length) report('/states', 'Each state may occur only once.')
  if (gateNames.size !== gates.length) report('/gates', 'Each gate may occur only once.')
  if (gateNames.has(REVIEW)) report('/gates', 'The gate name "review" is reserved for verdicts. Use another name.')
  if (!known.has(initial)) report('/initial', `initial is ${initial}, which is not one of the states.`)
  const ways = new Set<string>()
  for (const [i, { from, to, gate, by }] of transitions.entries()) {
    for (const [name, state] of Object.entries({ from, to }))
      if (!known.has(state)) report(`/transitions/${i}/${name}`, `${state} is not one of the states.`)
    if (gate !== undefined && !gateNames.has(gate)) report(`/transitions/${i}/gate`, `${gate} is not one of the gates.`)
    if (gate !== undefined && by !== undefined && by !== 'advance')
      report(
        `/transitions/${i}/gate`,
        'A transition by verdict cannot have a gate. Put the gate on the transition before it.',
      )
    const way = `${from} ${by ?? 'advance'}`
    if (ways.has(way))
      report(`/transitions/${i}`, `The state ${from} has more than one transition by ${by ?? 'advance'}.`)
    ways.add(way)
  }
  if (problems.length === 0 && ![...reachable(value as Workflow)].some((state) => isClosed(value as Workflow, state)))
    report(
      '/transitions',
      `No final state can be reached from ${initial}. A final state is one without a transition out of it.`,
    )
  return problems.slice(0, 20)
}

function reachable({ initial, transitions }: Workflow): Set<string> {
  const seen = new Set([initial])
  // Iterating over a Set also visits entries that are added during the iteration.
  for (const state of seen) for (const t of transitions) if (t.from === state) seen.add(t.to)
  return seen
}

/**
 * Returns the state where a feature of this kind arrives. After a gate or a verdict, it passes states whose only way
 * out is a gate that its kind skips. After a transition without either, it stops, because work begins there.
 */
function arrivalState({ transitions, gates }: Workflow, kind: FeatureKind, { to, gate, by }: Transition): string {
  const seen = new Set([to])
  if (gate === undefined && (by ?? 'advance') === 'advance') return to
  for (const state of seen) {
    const [only, ...others] = transitions.filter((t) => t.from === state)
    const skipped = gates?.find(({ name }) => name === only?.gate)?.skipFor?.includes(kind)
    if (!only || others.length > 0 || !skipped) return state
    seen.add(only.to)
  }
  return to
}

type Step = { to: string; gate: string | null; missing: Missing[] } | { refused: string }

/** Returns the state that a move leads to, and what is missing for it. The move is allowed if nothing is missing. */
export function stepFor(workflow: Workflow, { status, kind }: { status: string; kind: FeatureKind }, move: Move): Step {
  const out = workflow.transitions.filter((t) => t.from === status)
  if (!workflow.states.includes(status))
    return {
      refused: `The project's workflow has no state ${status}. An admin can set another state with override.`,
    }
  if (out.length === 0) return { refused: `The feature is ${status}, which is a final state.` }
  if (move.by !== 'advance') {
    const found = out.find((t) => triggerOf(t) === move.by)
    if (found) return { to: arrivalState(workflow, kind, found), gate: REVIEW, missing: [] }
    const next = out.find((t) => triggerOf(t) === 'advance')
    return {
      refused: `The feature is ${status}. It cannot be reviewed now.${next ? ` Advance it to ${next.to} first.` : ''}`,
    }
  }
  const arrives = (t: Transition) => (t.to === move.to ? t.to : arrivalState(workflow, kind, t))
  const ways = move.to === undefined ? out : out.filter((t) => arrives(t) === move.to)
  const found = ways.find((t) => triggerOf(t) === 'advance') ?? ways.find((t) => triggerOf(t) === 'approved') ?? ways[0]
  if (!found)
    return {
      refused: `The feature cannot move from ${status} to ${move.to}, only to ${out.map(arrives).join(' or ')}.`,
    }
  const verdict = triggerOf(found)
  const to = arrives(found)
  if (verdict !== 'advance') return { to, gate: REVIEW, missing: [reviewMissing(verdict)] }
  const gate = workflow.gates?.find((g) => g.name === found.gate)
  if (!gate) {
    if (!move.evidence) return { to, gate: null, missing: [] }
    return {
      refused: `The step from ${status} to ${to} has no gate. Submit the evidence at the next gate.`,
    }
  }
  const skipped = gate.skipFor?.includes(kind) ?? false
  const missing = skipped ? [] : gate.needs.filter((need) => !isMet(need, move.evidence))
  return {
    to,
    gate: gate.name,
    missing: missing.map(({ anyOf, what }) => ({
      item: anyOf.map((part) => `evidence.${part}`).join(' or '),
      // The team's own workflow contains text of users; the default one does not.
      needs: (workflow === defaultWorkflow ? what : quoteText(what)) + failuresIn(anyOf, move.evidence),
      ...providedBy({
        tool: 'advance_feature',
        route: 'POST /api/features/{id}/advance',
        command: 'tutti features advance <feature>',
      }),
    })),
  }
}

type Need = NonNullable<Workflow['gates']>[number]['needs'][number]

/** Returns whether evidence has one of the parts that a gate needs. */
const isMet = ({ anyOf, testResult = false }: Need, evidence: Partial<Evidence> = {}): boolean =>
  anyOf.some((part) => {
    if (part === 'tests')
      return evidence.tests !== undefined && evidence.tests.passed > 0 && evidence.tests.failed === 0
    const given = evidence[part] ?? []
    if (!testResult || typeof given === 'string') return given.length > 0
    return given.some(part === 'links' ? isCiRun : isAddress)
  })

const isAddress = (text: string): boolean => /^https?:\/\/\S+$/i.test(text)
const ciHost =
  /^https?:\/\/(?:[\w-]+\.)*(?:ci|builds?|jenkins|teamcity|drone|woodpecker|buildkite|circleci|travis-ci)\./i
const ciPath = /\/(?:runs?|builds?|jobs?|pipelines?|checks?)\/[^/?#]|[?&]build_?id=/i
/** `links` can contain any address, so only one whose host or path names CI, a run, a build or a job counts. */
const isCiRun = (text: string): boolean => isAddress(text) && (ciHost.test(text) || ciPath.test(text))

/** Returns the submitted test result, if it did not open the gate. */
const failuresIn = (anyOf: readonly string[], { tests }: Partial<Evidence> = {}): string =>
  tests && anyOf.includes('tests') ? ` (submitted: ${tests.passed} passed, ${tests.failed} failed)` : ''

const reviewMissing = (verdict: Verdict): Missing => ({
  item: REVIEW,
  needs: `a review with the verdict ${verdict}, by someone other than the author`,
  ...providedBy({
    tool: 'submit_review',
    route: 'POST /api/features/{id}/reviews',
    command: `tutti features review <feature> ${verdict}`,
  }),
})

/** Returns the call that provides a missing item. */
export const providedBy = (next: WayOut & { tool: string }): Pick<Missing, 'call' | 'next'> => ({
  call: next.tool,
  next,
})

/** Returns the state in front of a gate, if a feature can only be in `status` after it passed that gate. */
export function stateBeforeGate({ transitions }: Workflow, gate: string, status: string): string | undefined {
  return transitions.find((through) => {
    if (through.gate !== gate || through.from === status) return false
    const after = new Set([through.to])
    for (const state of after)
      for (const t of transitions)
        if (t.from === state && t.to !== through.from && triggerOf(t) !== 'changes_requested') after.add(t.to)
    return after.has(status)
  })?.from
}

/** Returns the gates for a kind of feature, in workflow order, with the state of each. */
export function gateProgress(
  workflow: Workflow,
  kind: FeatureKind,
  passed: ReadonlySet<string>,
): { gate: string; state: 'open' | 'passed' | 'skipped' }[] {
  const names = workflow.transitions.flatMap((t) => t.gate ?? (t.by === 'approved' ? REVIEW : []))
  return [...new Set(names)].map((gate) => {
    const skipped = workflow.gates?.find((g) => g.name === gate)?.skipFor?.includes(kind)
    return { gate, state: passed.has(gate) ? 'passed' : skipped ? 'skipped' : 'open' }
  })
}

/** Returns the next step and what is missing for it; null if there is none. */
export function nextFeatureStep(
  workflow: Workflow,
  at: { status: string; kind: FeatureKind },
): { to: string; missing: Missing[] } | null {
  const found = stepFor(workflow, at, { by: 'advance' })
  return 'refused' in found ? null : { to: found.to, missing: found.missing }
}
