// One feature: its gates, the evidence for them, and the forms to review it or to override its gates.
import { element, field, onSubmit, quoted } from './api.js'

/** Empty: open, or only reported. */
const marks = { passed: '✓', skipped: '–', observed: '●', verified: '✓' }
const sentence = (text) => text[0].toUpperCase() + text.slice(1)
const mark = (state) => element('span', { class: `mark ${state}`, 'aria-hidden': 'true' }, marks[state] ?? '')
const by = ({ type, name }) => element('span', { class: type }, quoted(name), type === 'agent' ? ' (agent)' : '')

const isUrl = (text) => /^https?:\/\//.test(text)
const reference = (text) =>
  element(
    'li',
    {},
    isUrl(text) ? element('a', { href: text, rel: 'noreferrer' }, quoted(text)) : element('code', {}, text),
  )

function entry({ gate, level, evidence, actor, createdAt }, { words, when }) {
  const { summary, ...lists } = evidence
  return element(
    'li',
    {},
    mark(level),
    element(
      'div',
      {},
      element('p', {}, quoted(summary)),
      element('ul', { class: 'references' }, ...Object.values(lists).flat().map(reference)),
      element(
        'p',
        { class: 'soft small' },
        `${sentence(words(gate))} · ${level} by `,
        by(actor),
        ` · ${when(createdAt)}`,
      ),
    ),
  )
}

const verdicts = { approved: 'Approved', changes_requested: 'Changes requested' }

const reviewEntry = ({ verdict, comments, actor, createdAt }, { when }) =>
  element(
    'li',
    {},
    mark(verdict === 'approved' ? 'passed' : 'open'),
    element(
      'div',
      {},
      element('p', {}, verdicts[verdict], ' by ', by(actor)),
      comments ? element('p', {}, quoted(comments)) : undefined,
      element('p', { class: 'soft small' }, when(createdAt)),
    ),
  )

function reviewForm(send) {
  const form = element(
    'form',
    {},
    element('label', {}, 'Comment (optional)', element('textarea', { name: 'comments', rows: 3, maxlength: 10000 })),
    element('p', { role: 'alert' }),
    element(
      'div',
      { class: 'row' },
      element('button', { value: 'approved' }, 'Approve'),
      element('button', { value: 'changes_requested', class: 'quiet' }, 'Request changes'),
    ),
  )
  onSubmit(form, ({ comments }, verdict) => send({ verdict, ...(comments.trim() && { comments }) }))
  return form
}

function overrideForm({ states, status }, send, words) {
  const form = element(
    'form',
    {},
    element('p', { class: 'soft' }, 'The reason and your name go into the audit log.'),
    element(
      'label',
      {},
      'Move to',
      element(
        'select',
        { name: 'status' },
        ...states.filter((state) => state !== status).map((state) => element('option', { value: state }, words(state))),
      ),
    ),
    field('Reason', { name: 'reason', required: true, maxlength: 1000 }),
    element('p', { role: 'alert' }),
    element('div', { class: 'row' }, element('button', { class: 'quiet' }, 'Override the gates')),
  )
  onSubmit(form, (input) => send(input))
  return element('details', {}, element('summary', {}, 'Override the gates'), form)
}

const section = (heading, ...content) => [element('h2', {}, heading), ...content]
const entries = (items) => element('ul', { class: 'entries' }, ...items)

/** Whether somebody has to decide now: then the form comes first among what follows the gates. */
function decision({ can, gates, next }, { review }) {
  if (can.review === true) return section('Your review', reviewForm(review))
  const reviewed = gates.find(({ gate }) => gate === 'review')?.state === 'open'
  const isNext = reviewed && next?.missing.some(({ item }) => item === 'review')
  return isNext ? section('Review', element('p', { class: 'note' }, can.review.detail)) : []
}

export function showFeature(feature, how) {
  const { kind, priority, status, description, gates, next, evidence, reviews, can } = feature
  const { words } = how
  const missing = (next?.missing ?? []).filter(({ item }) => item !== 'review')
  return [
    element(
      'p',
      { class: 'lead' },
      element('strong', {}, sentence(words(status))),
      ` · ${kind} · ${priority} priority`,
    ),
    ...(description ? [element('p', { class: 'text' }, quoted(description))] : []),
    element(
      'ol',
      { class: 'gates' },
      ...gates.map(({ gate, state }) =>
        element(
          'li',
          {},
          mark(state),
          element('span', {}, sentence(words(gate))),
          element('span', { class: 'soft small' }, state),
        ),
      ),
    ),
    ...decision(feature, how),
    ...(missing.length > 0
      ? section(
          `What is missing to be “${words(next.to)}”`,
          element('ul', {}, ...missing.map(({ needs }) => element('li', {}, quoted(needs)))),
        )
      : []),
    ...section(
      'Evidence',
      evidence.length > 0
        ? entries(evidence.toReversed().map((item) => entry(item, how)))
        : element('p', { class: 'soft' }, 'None yet.'),
    ),
    ...(reviews.length > 0
      ? section('Reviews', entries(reviews.toReversed().map((item) => reviewEntry(item, how))))
      : []),
    ...(can.override === true ? [overrideForm(feature, how.override, words)] : []),
  ]
}
