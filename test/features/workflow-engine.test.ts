import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  defaultWorkflow,
  gateProgress,
  isClosed,
  isInReview,
  type Move,
  nextFeatureStep,
  stateBeforeGate,
  stepFor,
  workflowOf,
  workflowProblems,
} from '../../src/features/projects/workflow/workflow.ts'
import {
  type Evidence,
  type FeatureKind,
  kinds,
  type Workflow,
} from '../../src/features/projects/workflow/workflow-schema.ts'
import { findPath } from '../../src/records/cycles.ts'
import { isShort } from '../support/thorough.ts'

/** The same cases in every run; to look further, change it for a while. */
fc.configureGlobal({ seed: 20261115 })

const at = (status: string, kind: FeatureKind = 'feature') => ({ status, kind })
const code: Evidence = { summary: 'Lock added', commits: ['3f98b0f'] }
const tested: Evidence = { summary: 'All pass', tests: { command: 'bun test', passed: 214, failed: 0 } }
const documented: Evidence = { summary: 'Manual page', files: ['docs/lock.md'] }

/** Where it leads with nothing missing, or what is missing, or that it is refused. */
const outcome = (workflow: Workflow, from: ReturnType<typeof at>, move: Move): string => {
  const found = stepFor(workflow, from, move)
  if ('refused' in found) return 'refused'
  return found.missing.length > 0 ? `needs ${found.missing.map((m) => m.item).join(', ')}` : found.to
}

describe('the default workflow', () => {
  test('passes the validation of workflows', () => {
    expect(workflowProblems(defaultWorkflow)).toEqual([])
    expect(defaultWorkflow.states.filter((state) => isClosed(defaultWorkflow, state))).toEqual(['done'])
    expect(defaultWorkflow.states.filter((state) => isInReview(defaultWorkflow, state))).toEqual(['in_review'])
  })

  const files = 'evidence.files or evidence.commits or evidence.pullRequests'
  const runs = 'evidence.tests or evidence.testRuns or evidence.links'
  const rows: [string, FeatureKind, Evidence | undefined, string][] = [
    ['todo', 'feature', undefined, 'in_progress'],
    ['todo', 'feature', code, 'refused'],
    ['needs_edits', 'feature', undefined, 'in_progress'],
    ['in_progress', 'feature', undefined, `needs evidence.summary, ${files}`],
    ['in_progress', 'feature', { summary: 'x' }, `needs ${files}`],
    ['in_progress', 'feature', { summary: 'x', files: [] }, `needs ${files}`],
    ['in_progress', 'feature', { summary: 'x', testRuns: ['y'] }, `needs ${files}`],
    ['in_progress', 'chore', undefined, `needs evidence.summary, ${files}`],
    ['in_progress', 'feature', code, 'in_testing'],
    ['in_progress', 'feature', { summary: 'x', files: ['a'] }, 'in_testing'],
    ['in_progress', 'feature', { summary: 'x', pullRequests: ['a'] }, 'in_testing'],
    ['in_testing', 'feature', undefined, `needs evidence.summary, ${runs}`],
    ['in_testing', 'feature', { summary: 'x', commits: ['a'] }, `needs ${runs}`],
    ['in_testing', 'feature', { summary: 'x', files: ['test/lock.test.ts'] }, `needs ${runs}`],
    ['in_testing', 'feature', { summary: 'x', testRuns: ['bun test: 214 pass'] }, `needs ${runs}`],
    ['in_testing', 'feature', { summary: 'x', links: ['https://docs.example.com/lock'] }, `needs ${runs}`],
    ['in_testing', 'feature', { summary: 'x', tests: { command: 'x', passed: 0, failed: 0 } }, `needs ${runs}`],
    ['in_testing', 'feature', { summary: 'x', tests: { command: 'x', passed: 9, failed: 1 } }, `needs ${runs}`],
    ['in_testing', 'feature', { summary: 'x', testRuns: ['https://example.com/x/42'] }, 'in_docs'],
    ['in_testing', 'feature', { summary: 'x', links: ['https://github.com/o/r/actions/runs/42'] }, 'in_docs'],
    ['in_testing', 'feature', { summary: 'x', links: ['https://gitlab.com/o/r/-/pipelines/42'] }, 'in_docs'],
    ['in_testing', 'feature', tested, 'in_docs'],
    ['in_testing', 'bug', { summary: 'x', links: ['https://ci.example.com/1'] }, 'in_review'],
    ['in_testing', 'chore', tested, 'in_review'],
    ['in_testing', 'bug', undefined, `needs evidence.summary, ${runs}`],
    ['in_docs', 'feature', undefined, 'needs evidence.files or evidence.links'],
    ['in_docs', 'feature', { summary: 'x', commits: ['a'] }, 'needs evidence.files or evidence.links'],
    ['in_docs', 'feature', documented, 'in_review'],
    ...(['bug', 'hotfix', 'chore', 'test'] as const).map((kind): [string, FeatureKind, undefined, string] => [
      'in_docs',
      kind,
      undefined,
      'in_review',
    ]),
    ['in_docs', 'bug', documented, 'in_review'],
    ['in_review', 'feature', undefined, 'needs review'],
    ['in_review', 'chore', code, 'needs review'],
    ['done', 'feature', undefined, 'refused'],
    ['elsewhere', 'feature', undefined, 'refused'],
  ]
  test.each(rows)('moves %s of a %s with %j to: %s', (from, kind, evidence, expected) => {
    expect(outcome(defaultWorkflow, at(from, kind), { by: 'advance', evidence })).toBe(expected)
  })

  test('accepts a verdict in review only', () => {
    for (const state of defaultWorkflow.states) {
      expect(outcome(defaultWorkflow, at(state), { by: 'approved' })).toBe(state === 'in_review' ? 'done' : 'refused')
      expect(outcome(defaultWorkflow, at(state), { by: 'changes_requested' })).toBe(
        state === 'in_review' ? 'needs_edits' : 'refused',
      )
    }
  })

  test('names a refused test result in the refusal', () => {
    const evidence: Evidence = { summary: 'x', tests: { command: 'bun test', passed: 9, failed: 2 } }
    expect(stepFor(defaultWorkflow, at('in_testing'), { by: 'advance', evidence })).toMatchObject({
      missing: [{ needs: expect.stringContaining('(submitted: 9 passed, 2 failed)') }],
    })
  })

  test('returns a feature behind a gate to the state in front of it; one in front of it stays', () => {
    const back = (gate: string) => defaultWorkflow.states.map((state) => stateBeforeGate(defaultWorkflow, gate, state))
    const [no, work, testing] = [undefined, 'in_progress', 'in_testing']
    expect(back('code_complete')).toEqual([no, no, work, work, work, no, work])
    expect(back('test_complete')).toEqual([no, no, no, testing, testing, no, testing])
    expect(back('unknown')).toEqual(defaultWorkflow.states.map(() => undefined))
  })

  test('lets a bug skip a state whose gate does not apply, and only there', () => {
    const named = (to: string) =>
      outcome(defaultWorkflow, at('in_testing', 'bug'), { by: 'advance', to, evidence: tested })
    expect([named('in_review'), named('in_docs'), named('done')]).toEqual(['in_review', 'in_docs', 'refused'])
    const gate = { name: 'g', needs: [{ anyOf: ['links' as const], what: 'a link' }], skipFor: ['bug' as const] }
    const states = ['todo', 'work', 'review', 'docs', 'done']
    const own: Workflow = {
      initial: 'todo',
      states,
      gates: [gate],
      transitions: [
        { from: 'todo', to: 'work' },
        { from: 'work', to: 'review', gate: 'g' },
        { from: 'review', to: 'docs', by: 'approved' },
        { from: 'docs', to: 'done', gate: 'g' },
      ],
    }
    const way = (kind: FeatureKind, from: string) => outcome(own, at(from, kind), { by: 'advance' })
    expect([way('bug', 'todo'), way('bug', 'work'), way('bug', 'docs')]).toEqual(['work', 'review', 'done'])
    expect(outcome(own, at('review', 'bug'), { by: 'approved' })).toBe('done')
    expect(outcome(own, at('review'), { by: 'approved' })).toBe('docs')
  })

  test('requires the same evidence if the state is named', () => {
    for (const from of defaultWorkflow.states)
      for (const to of [...defaultWorkflow.states, 'nowhere'])
        for (const evidence of [undefined, code, tested, documented]) {
          const named = outcome(defaultWorkflow, at(from), { by: 'advance', to, evidence })
          const plain = stepFor(defaultWorkflow, at(from), { by: 'advance', evidence })
          if ('refused' in plain || plain.to !== to) expect(['refused', 'needs review']).toContain(named)
          else expect(named).toBe(outcome(defaultWorkflow, at(from), { by: 'advance', evidence }))
        }
  })

  test('lists the next states and the gates', () => {
    expect(nextFeatureStep(defaultWorkflow, at('in_progress'))).toMatchObject({
      to: 'in_testing',
      missing: [{ needs: 'what changed' }, {}],
    })
    expect(nextFeatureStep(defaultWorkflow, at('in_docs', 'bug'))).toEqual({ to: 'in_review', missing: [] })
    expect(nextFeatureStep(defaultWorkflow, at('in_review'))).toMatchObject({
      to: 'done',
      missing: [{ item: 'review' }],
    })
    expect(nextFeatureStep(defaultWorkflow, at('done'))).toBeNull()
    expect(gateProgress(defaultWorkflow, 'bug', new Set(['code_complete']))).toEqual([
      { gate: 'code_complete', state: 'passed' },
      { gate: 'test_complete', state: 'open' },
      { gate: 'docs_complete', state: 'skipped' },
      { gate: 'review', state: 'open' },
    ])
  })
})

describe('a custom workflow', () => {
  const two: Workflow = { initial: 'open', states: ['open', 'closed'], transitions: [{ from: 'open', to: 'closed' }] }
  const with_ = (change: Partial<Record<keyof Workflow, unknown>>) => ({ ...two, ...change })

  test('can be small', () => {
    expect(workflowProblems(two)).toEqual([])
    expect(workflowOf({ settings: { workflow: two } })).toEqual(two)
    expect(workflowOf({ settings: {} })).toBe(defaultWorkflow)
    expect(workflowOf({ settings: { workflow: 'x' } })).toBe(defaultWorkflow)
    expect(outcome(two, at('open'), { by: 'advance' })).toBe('closed')
    expect(outcome(two, at('open'), { by: 'approved' })).toBe('refused')
  })

  test('decides with testResult whether a gate needs a test result', () => {
    const withGate = (testResult?: true): Workflow => ({
      ...two,
      transitions: [{ from: 'open', to: 'closed', gate: 'tried' }],
      gates: [{ name: 'tried', needs: [{ anyOf: ['files', 'testRuns'], what: 'what was tried', testResult }] }],
    })
    const evidence: Evidence = { summary: 'x', files: ['notes.md'], testRuns: ['Read on three phones'] }
    expect(outcome(withGate(), at('open'), { by: 'advance', evidence })).toBe('closed')
    expect(outcome(withGate(true), at('open'), { by: 'advance', evidence })).toBe(
      'needs evidence.files or evidence.testRuns',
    )
  })

  const gate = { name: 'g', needs: [{ anyOf: ['links'], what: 'a link' }] }
  const broken: [string, unknown, string][] = [
    ['nothing', null, ''],
    ['a text', 'x', ''],
    ['an unknown field', with_({ surprise: 1 } as object), '/surprise'],
    ['a strange name', with_({ states: ['Open!', 'closed'] }), '/states/0'],
    ['an initial state that is none', with_({ initial: 'nowhere' }), '/initial'],
    [
      'a transition from nowhere',
      with_({ transitions: [...two.transitions, { from: 'nowhere', to: 'closed' }] }),
      '/transitions/1/from',
    ],
    ['a transition to nowhere', with_({ transitions: [{ from: 'open', to: 'nowhere' }] }), '/transitions/0/to'],
    ['an unknown gate', with_({ transitions: [{ from: 'open', to: 'closed', gate: 'g' }] }), '/transitions/0/gate'],
    ['a state twice', with_({ states: ['open', 'open', 'closed'] }), '/states'],
    ['a gate twice', with_({ gates: [gate, gate] }), '/gates'],
    ['a gate called review', with_({ gates: [{ ...gate, name: 'review' }] }), '/gates'],
    [
      'a gate that asks for nothing in particular',
      with_({ gates: [{ name: 'g', needs: [{ anyOf: [], what: 'x' }] }] }),
      '/gates/0/needs/0/anyOf',
    ],
    [
      'a gate on a verdict',
      with_({ gates: [gate], transitions: [{ from: 'open', to: 'closed', by: 'approved', gate: 'g' }] }),
      '/transitions/0/gate',
    ],
    [
      'two ways on',
      with_({ states: ['open', 'closed', 'shut'], transitions: [...two.transitions, { from: 'open', to: 'shut' }] }),
      '/transitions/1',
    ],
    ['no end', with_({ transitions: [...two.transitions, { from: 'closed', to: 'open' }] }), '/transitions'],
    [
      'an end that cannot be reached',
      {
        initial: 'a',
        states: ['a', 'b', 'z'],
        transitions: [
          { from: 'a', to: 'b' },
          { from: 'b', to: 'a' },
        ],
      },
      '/transitions',
    ],
  ]
  test.each(broken)('with %s is refused', (_what, workflow, pointer) => {
    expect(workflowProblems(workflow)[0]?.pointer).toBe(pointer)
    expect(workflowOf({ settings: { workflow } })).toBe(defaultWorkflow)
  })
})

// ---- no way around

const state = fc.constantFrom('a', 'b', 'c', 'd', 'e')
const anyWorkflow = fc
  .record({
    initial: state,
    transitions: fc.array(
      fc.record(
        {
          from: state,
          to: state,
          by: fc.constantFrom('advance' as const, 'approved' as const, 'changes_requested' as const),
          gate: fc.constantFrom('g', 'h'),
        },
        { requiredKeys: ['from', 'to'] },
      ),
      { maxLength: 8 },
    ),
  })
  .map(
    (made): Workflow => ({
      ...made,
      states: ['a', 'b', 'c', 'd', 'e'],
      gates: [
        { name: 'g', needs: [{ anyOf: ['links'], what: 'a link' }] },
        { name: 'h', needs: [{ anyOf: ['files', 'commits'], what: 'code' }], skipFor: ['chore'] },
      ],
    }),
  )
const anyEvidence = fc.option(
  fc.record(
    {
      summary: fc.constant('x'),
      files: fc.constant<string[]>(['f']),
      links: fc.constant<string[]>(['l']),
      commits: fc.constant<string[]>([]),
    },
    { requiredKeys: ['summary'] },
  ),
  { nil: undefined },
)
const anyMove: fc.Arbitrary<Move> = fc.oneof(
  fc.record({ by: fc.constant('advance' as const), to: fc.option(state, { nil: undefined }), evidence: anyEvidence }),
  fc.record({ by: fc.constantFrom('approved' as const, 'changes_requested' as const) }),
)

test('every step in any workflow is one of its transitions, with the evidence of its gate', () => {
  fc.assert(
    fc.property(
      anyWorkflow,
      fc.constantFrom(...kinds),
      fc.array(anyMove, { maxLength: 30 }),
      (workflow, kind, moves) => {
        fc.pre(workflowProblems(workflow).length === 0)
        let status = workflow.initial
        for (const move of moves) {
          const found = stepFor(workflow, { status, kind }, move)
          if ('refused' in found || found.missing.length > 0) continue
          const used = workflow.transitions.find((t) => t.from === status && (t.by ?? 'advance') === move.by)
          expect(used).toBeDefined()
          for (let passed = used?.to; passed !== found.to; ) {
            const [way, ...others] = workflow.transitions.filter((t) => t.from === passed)
            expect([others, way?.gate, kind]).toEqual([[], 'h', 'chore'])
            passed = way?.to
          }
          const gate = workflow.gates?.find((g) => g.name === used?.gate)
          if (gate && !gate.skipFor?.includes(kind)) {
            const evidence = (move.by === 'advance' && move.evidence) || undefined
            for (const { anyOf } of gate.needs)
              expect(anyOf.some((part) => Object.keys(evidence?.[part] ?? {}).length > 0)).toBe(true)
          }
          status = found.to
        }
      },
    ),
    { numRuns: isShort ? 500 : 2000 },
  )
})

describe('the path between features', () => {
  test('is the shortest one, if one exists', () => {
    const edges = ['a b', 'b c', 'c d', 'a d', 'x y'].map((pair) => ({
      from: pair[0] as string,
      to: pair[2] as string,
    }))
    expect(findPath('d', ['a'], edges)).toEqual(['a', 'd'])
    expect(findPath('c', ['x', 'a'], edges)).toEqual(['a', 'b', 'c'])
    expect(findPath('a', ['a'], edges)).toEqual(['a'])
    expect(findPath('a', ['b', 'x'], edges)).toBeUndefined()
    expect(findPath('a', [], edges)).toBeUndefined()
  })

  test('is found with one visit of each feature', () => {
    const edges = Array.from({ length: 100_000 }, (_, i) => ({
      from: `${i % 2000}`,
      to: `${(i % 2000) + 1 + Math.floor(i / 2000)}`,
    }))
    const starts = Array.from({ length: 50 }, (_, i) => `${i}`)
    expect(findPath('none', starts, edges)).toBeUndefined()
    expect(findPath('2000', starts, edges)).toHaveLength(41)
  }, 300_000)
})
