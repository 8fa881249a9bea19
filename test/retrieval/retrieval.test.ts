import { expect, test } from 'bun:test'
import { ownApp } from '../features/support.ts'
import { person, systemCtx, unique } from '../support/app.ts'
import { type By, measure } from './measure.ts'
import { memories, queries } from './set.ts'

test('the test set has the expected size', () => {
  expect(queries.length).toBeGreaterThanOrEqual(60)
  expect(new Set(queries.map((q) => q.ask)).size).toBe(queries.length)
  // Distractors: no question asks for them.
  expect(Object.keys(memories).length - new Set(queries.map((q) => q.expect)).size).toBeGreaterThanOrEqual(12)
})

test('hybrid search finds the answers at least as well as meaning or words alone', async () => {
  const t = await ownApp()
  const ada = await person(t)
  const project = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Retrieval') })).body
  const started = performance.now()
  const found = await measure(await ada.ctx(), systemCtx(t), project.id)
  const shown = (by: By) =>
    Object.fromEntries(
      Object.entries(found[by])
        .filter(([, v]) => typeof v === 'number')
        .map(([k, v]) => [k, (v as number).toFixed(3)]),
    )
  console.table({ vector: shown('vector'), text: shown('text'), hybrid: shown('hybrid') })
  console.log('hybrid, first place by kind of question', found.hybrid.byWay, 'not among five:', found.hybrid.missed)
  console.log(`${Math.round(performance.now() - started)} ms`)
  await t.close()
  // What was measured, with a little room for another dictionary of Postgres.
  expect(found.hybrid['recall@1']).toBeGreaterThanOrEqual(0.8)
  expect(found.hybrid['recall@5']).toBeGreaterThanOrEqual(0.9)
  expect(found.hybrid['recall@10']).toBeGreaterThanOrEqual(0.95)
  expect(found.hybrid.mrr).toBeGreaterThanOrEqual(0.85)
  expect(found.hybrid.byWay.identifier).toBe(1)
  for (const other of [found.vector, found.text])
    for (const name of ['recall@1', 'recall@5', 'recall@10', 'mrr'] as const)
      expect(found.hybrid[name]).toBeGreaterThanOrEqual(other[name])
}, 300_000)
