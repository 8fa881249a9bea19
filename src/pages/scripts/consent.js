import { $, element, get, guarded, leave, onSubmit, post, put, quoted, whoAmI } from './api.js'

const form = $('form')
// Encoded again, so that the address survives the detour to sign in: programs leave slashes and colons as they are.
const request = new URLSearchParams(location.search).toString().replaceAll('*', '%2A')
const toLogin = () => leave(`/login?next=${encodeURIComponent(`/oauth/authorize?${request}`)}`)

/** Sends the decision, then lets the browser follow the response back to the program. */
async function answer(decision, choice = {}) {
  const { ticket } = await post('/api/settings/grants/decide', { request, decision, ...choice })
  const sent = element(
    'form',
    { method: 'post', action: '/oauth/consent', hidden: true },
    element('input', { name: 'ticket', value: ticket, type: 'hidden' }),
  )
  document.body.append(sent)
  sent.submit()
  // The page stays if the program is an app that the browser hands over to.
  put(
    form,
    element(
      'p',
      { class: 'lead' },
      decision === 'allow' ? 'Access granted. Go back to the program.' : 'Access denied.',
    ),
  )
}

const option = (value, text, selected = false) => element('option', { value, selected }, text)
const select = (label, name, options) => element('label', {}, label, element('select', { name }, ...options))
const items = async (path) => (await get(path)).items

/** Describes the program. Only the host that published its description is verified. */
const about = ({ name, host, place, target }, user) => [
  element('p', { class: 'lead' }, quoted(name), ' wants to access Tutti as ', quoted(user.email), '.'),
  host && place === 'web'
    ? element('p', { class: 'soft' }, `Its description is published by ${host}. You will be sent to ${target}.`)
    : element(
        'p',
        { class: 'note' },
        host
          ? `Its description is published by ${host}; the program itself is not verified. `
          : 'The name of the program is not verified. ',
        place === 'computer' ? 'It runs on this computer. ' : `You will be sent to ${target}. `,
        'Continue only if you have just started it yourself.',
      ),
]

/** Whether the program sees all projects or only some, which cannot be changed later. */
function limitChooser() {
  const only = element('fieldset', { hidden: true })
  const reach = select('Projects', 'limit', [
    option('all', 'All projects that you can see', true),
    option('some', 'Selected projects only'),
  ])
  $('select', reach).addEventListener('change', ({ target }) => {
    only.hidden = target.value !== 'some'
  })
  const choice = ({ id, name }) =>
    element('label', { class: 'row' }, element('input', { type: 'checkbox', name: 'projects', value: id }), name)
  const fill = (projects) =>
    only.replaceChildren(
      element(
        'legend',
        { class: 'soft' },
        'The program sees only these projects of the team. You cannot change this later.',
      ),
      ...projects.map(choice),
      ...(projects.length === 0 ? [element('p', { class: 'soft' }, 'This team has no projects yet.')] : []),
    )
  return { fields: [reach, only], fill }
}

async function chooser(user, asked) {
  const [teams, { currentOrganizationId }] = await Promise.all([
    items('/api/teams?limit=200'),
    Promise.resolve(user.preferences ?? {}),
  ])
  const agents = element('select', { name: 'agentId' })
  const projects = element('select', { name: 'projectId' })
  const limit = limitChooser()
  const team = select(
    'Team',
    'organizationId',
    teams.map(({ id, name }) => option(id, name, id === currentOrganizationId)),
  )
  const fill = async () => {
    const headers = { 'x-organization-id': $('select', team).value }
    const of = async (path) => (await (await fetch(path, { headers })).json()).items ?? []
    const [known, there] = await Promise.all([of('/api/agents?limit=100'), of('/api/projects?limit=100')])
    agents.replaceChildren(option('', `New agent: ${asked.name}`), ...known.map(({ id, name }) => option(id, name)))
    projects.replaceChildren(option('', 'None'), ...there.map(({ id, name }) => option(id, name)))
    limit.fill(there)
  }
  $('select', team).addEventListener('change', fill)
  await fill()
  const writes = asked.scopes.some((scope) => scope.endsWith('write'))
  return [
    team,
    select('Access', 'access', [
      ...(writes ? [option('all', 'Read and change everything that you can', true)] : []),
      option('read', 'Read only', !writes),
    ]),
    ...limit.fields,
    element(
      'details',
      {},
      element('summary', {}, 'More options'),
      element('label', {}, 'Agent', agents),
      element('label', {}, 'Default project', projects),
      select('Expires after', 'days', [
        option('90', '90 days', true),
        option('30', '30 days'),
        option('7', '7 days'),
        option('1', 'One day'),
      ]),
    ),
  ]
}

/** Converts the requested scopes to read scopes: only requested scopes can be granted. */
const readOnly = (scopes) => [...new Set(scopes.map((scope) => scope.replace(/write$/, 'read')))]

await guarded(form, async () => {
  const user = await whoAmI()
  if (!user) return toLogin()
  const asked = await post('/api/settings/grants/look', { request })
  if (asked.before) {
    const { agentId, projectId, ...before } = asked.before
    return answer('allow', { ...before, ...(agentId && { agentId }), ...(projectId && { projectId }) })
  }
  form.replaceChildren(
    ...about(asked, user),
    ...(await chooser(user, asked)),
    element('p', { role: 'alert' }),
    element(
      'div',
      { class: 'row' },
      element('button', { value: 'allow' }, 'Allow'),
      element('button', { value: 'deny', class: 'quiet', formnovalidate: true }, 'Deny'),
    ),
  )
  onSubmit(form, ({ access, organizationId, agentId, projectId, days, limit }, pressed) =>
    pressed === 'allow'
      ? answer('allow', {
          organizationId,
          scopes: access === 'all' ? asked.scopes : readOnly(asked.scopes),
          days: Number(days),
          ...(agentId && { agentId }),
          ...(limit === 'some' && { projects: new FormData(form).getAll('projects') }),
          ...(projectId && { projectId }),
        })
      : answer('deny'),
  )
})()
