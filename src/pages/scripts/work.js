// Projects and teams: what only a person at a browser may do.
import { $, all, call, element, get, guarded, quoted, toLogin, whoAmI } from './api.js'
import { showTeam } from './team.js'

const place = $('#page')
const words = (name) => name.replaceAll('_', ' ')
const linked = (href, text) => element('a', { href }, quoted(text))
const title = (text) => {
  document.title = `${text} · Tutti`
  return element('h1', {}, quoted(text))
}
const empty = (text) => element('p', { class: 'soft' }, text)
const rows = (items, ifNone) => (items.length > 0 ? element('ul', { class: 'list' }, ...items) : empty(ifNone))
const row = (name, facts, ...actions) =>
  element(
    'li',
    {},
    element('span', {}, name, ...facts.map((fact) => element('span', { class: 'soft' }, fact))),
    ...actions,
  )

async function projects() {
  const found = await all('/api/projects')
  return [
    title('Projects'),
    element('p', { class: 'lead' }, 'Features with their gates, and who may review them.'),
    rows(
      found.map((project) =>
        row(element('strong', {}, linked(`/projects/${project.id}`, project.name)), [project.key, project.status]),
      ),
      'There are no projects in your current team.',
    ),
  ]
}

/** Returns false, and changes nothing, if the record is no longer at this version. */
const changeIfCurrent = (path, version, body) =>
  call('PUT', path, body, { 'if-match': `"${version}"` }).then(
    () => true,
    (problem) => {
      if (problem.status === 412) return false
      throw problem
    },
  )

async function project(id) {
  const path = `/api/projects/${encodeURIComponent(id)}`
  const found = await get(path)
  const features = await all(`${path}/features`)
  const waiting = ({ status, gates }) =>
    gates.some(({ state }) => state === 'open') ? words(status) : 'all gates passed'
  return [
    element('p', { class: 'soft small' }, element('a', { href: '/projects' }, 'Projects')),
    title(found.name),
    element('h2', {}, 'Features'),
    rows(
      features.map((feature) =>
        row(element('strong', {}, linked(`/features/${feature.id}`, feature.title)), [waiting(feature)]),
      ),
      'There are no features yet.',
    ),
    element('h2', {}, 'Reviews'),
    element(
      'p',
      {},
      found.settings.allowSelfReview
        ? 'Authors may review their own work in this project.'
        : 'Nobody reviews their own work in this project, except the only member of a team.',
    ),
    element(
      'button',
      {
        class: 'quiet',
        onclick: guarded(place, async () => {
          const settings = { ...found.settings, allowSelfReview: !found.settings.allowSelfReview }
          const changed = await changeIfCurrent(path, found.version, { settings })
          await show()
          if (!changed) throw new Error('Somebody changed this project meanwhile. You see it as it is now: try again.')
        }),
      },
      found.settings.allowSelfReview ? 'Require another reviewer' : 'Let authors review their own work',
    ),
  ]
}

const parts = location.pathname.split('/').filter(Boolean)
const content = (me) => {
  if (parts[0] === 'team' || parts[0] === 'teams') return showTeam(parts[1], me, title)
  return parts.length === 2 ? project(parts[1]) : projects()
}

async function show() {
  const me = await whoAmI()
  if (!me) return toLogin()
  place.replaceChildren(...(await content(me)))
  const heading = $('h1', place)
  heading.tabIndex = -1
  heading.focus()
}

await guarded(place, show)()
