import { $, addPasskey, call, canUsePasskeys, element, get, guarded, onSubmit, post, reasonFromFragment, toLogin, whoAmI } from './api.js'

const main = $('#sections')
const reason = reasonFromFragment()
const user = await whoAmI()

const when = (at) => (at ? new Date(at).toLocaleString() : 'never')

async function show() {
  $('#who').textContent = `${user.name} · ${user.email}${user.role === 'admin' ? ' · administrator' : ''}`
  const { items: teams } = await get('/api/teams')
  const { oauth } = await get('/api/auth/providers')
  const invites = user.emailVerifiedAt ? (await get('/api/invites')).items : []

  if (reason) main.append(element('p', { role: 'alert' }, reason))
  main.append(...invites.map(invitation))
  if (!user.emailVerifiedAt) main.append(unverified())

  main.append(
    section({
      title: 'Agents',
      about: 'An MCP token connects one agent to one team.',
      list: '/api/mcp-tokens',
      alive: (t) => !t.revokedAt && Date.parse(t.expiresAt) > Date.now(),
      line: (t) => [t.name, `${t.prefix}…${t.last4}`, `used ${when(t.lastUsedAt)}`, `until ${when(t.expiresAt)}`],
      remove: (t) => `/api/mcp-tokens/${t.id}`,
      verb: 'Revoke',
      fields: [
        field('Name', { name: 'name', required: true, maxlength: 100, placeholder: 'laptop' }),
        choice(
          'Team',
          'organizationId',
          teams.map((t) => [t.id, t.name]),
        ),
      ],
      create: (input) => post('/api/mcp-tokens', input),
      make: 'Make a token',
      once: ({ token }) => [
        secret(token),
        element('p', {}, 'Connect Claude Code with:'),
        secret(`claude mcp add --transport http tutti ${location.origin}/mcp --header "Authorization: Bearer ${token}"`),
      ],
    }),
    section({
      title: 'API keys',
      about: 'For scripts that call the web API as you.',
      list: '/api/settings/api-keys',
      alive: (k) => !k.revokedAt && Date.parse(k.expiresAt) > Date.now(),
      line: (k) => [k.name, `${k.prefix}…${k.last4}`, `used ${when(k.lastUsedAt)}`, `until ${when(k.expiresAt)}`],
      remove: (k) => `/api/settings/api-keys/${k.id}`,
      verb: 'Revoke',
      fields: [field('Name', { name: 'name', required: true, maxlength: 100, placeholder: 'deploy script' })],
      create: (input) => post('/api/settings/api-keys', input),
      make: 'Make a key',
      once: ({ token }) => [secret(token)],
    }),
    section({
      title: 'Passkeys',
      about: canUsePasskeys()
        ? 'Sign in with your fingerprint, face or security key.'
        : 'This browser cannot use passkeys at this address.',
      list: '/api/settings/passkeys',
      line: (p) => [p.name, `used ${when(p.lastUsedAt)}`],
      remove: (p) => `/api/settings/passkeys/${p.id}`,
      fields: canUsePasskeys() ? [field('Name', { name: 'name', required: true, maxlength: 100, placeholder: 'this laptop' })] : undefined,
      create: ({ name }) => addPasskey(name),
      make: 'Add a passkey',
    }),
    section({
      title: 'Connected accounts',
      about: oauth.length > 0 ? 'Other places you can sign in with.' : undefined,
      list: '/api/settings/connected-accounts',
      line: (c) => [c.provider, c.email ?? c.name ?? ''],
      remove: (c) => `/api/settings/connected-accounts/${c.provider}`,
      verb: 'Disconnect',
      after: oauth.map((p) =>
        element('a', { class: 'button quiet', href: `/api/auth/oauth/${p}?link=1&returnTo=/account` }, `Connect ${p}`),
      ),
    }),
    section({
      title: 'Where you are signed in',
      list: '/api/settings/sessions',
      line: (s) => [
        s.device ?? s.userAgent ?? 'unknown',
        s.impersonated ? 'an administrator acting as you' : s.via,
        s.ip ?? '',
        s.current ? 'this browser' : `seen ${when(s.lastSeenAt)}`,
      ],
      remove: (s) => (s.current ? undefined : `/api/settings/sessions/${s.id}`),
      verb: 'End',
    }),
    password(),
  )
}

function section({ title, about, list, alive = () => true, line, remove, verb = 'Remove', fields, create, make, once, after = [] }) {
  const rows = element('tbody')
  const place = element(
    'section',
    {},
    element('h2', {}, title),
    about && element('p', { class: 'soft' }, about),
    element('table', {}, rows),
    ...after,
  )
  const refresh = async () => {
    const { items } = await get(list)
    rows.replaceChildren(...items.filter(alive).map(row))
    if (rows.children.length === 0) rows.append(element('tr', {}, element('td', { class: 'soft' }, 'None yet')))
  }
  const row = (item) => {
    const path = remove(item)
    const button =
      path &&
      element(
        'button',
        {
          class: 'quiet',
          onclick: guarded(place, async () => {
            await call('DELETE', path)
            await refresh()
          }),
        },
        verb,
      )
    return element('tr', {}, ...line(item).map((text) => element('td', {}, text)), element('td', {}, button))
  }
  if (fields) {
    const form = element('form', { class: 'inline' }, ...fields, element('button', {}, make), element('p', { role: 'alert' }))
    onSubmit(form, async (input) => {
      const made = await create(input)
      form.reset()
      if (once) form.after(element('div', { class: 'once' }, element('p', {}, 'Copy it now: it is shown only once.'), ...once(made)))
      await refresh()
    })
    place.append(form)
  }
  guarded(place, refresh)()
  return place
}

const field = (label, attributes) => element('label', {}, label, element('input', attributes))
const choice = (label, name, options) =>
  element('label', {}, label, element('select', { name }, ...options.map(([value, text]) => element('option', { value }, text))))

function secret(text) {
  const copy = element('button', { type: 'button', class: 'quiet', onclick: () => navigator.clipboard.writeText(text) }, 'Copy')
  return element('div', { class: 'row' }, element('code', {}, text), copy)
}

function invitation(invite) {
  const place = element('section', { class: 'once' }, element('p', {}, `You are invited to ${invite.organization.name} as ${invite.role}.`))
  const answer = (verb) =>
    guarded(place, async () => {
      await call('POST', `/api/invites/${invite.id}/${verb}`)
      location.reload()
    })
  place.append(
    element(
      'div',
      { class: 'row' },
      element('button', { onclick: answer('accept') }, 'Accept'),
      element('button', { class: 'quiet', onclick: answer('decline') }, 'Decline'),
    ),
  )
  return place
}

function unverified() {
  const place = element('section', { class: 'once' }, element('p', {}, `Your address ${user.email} is not confirmed yet.`))
  const send = guarded(place, async () => {
    await post('/api/auth/verify-email', {})
    place.replaceChildren(element('p', {}, `A mail is on its way to ${user.email}.`))
  })
  place.append(element('button', { class: 'quiet', onclick: send }, 'Send the mail again'))
  return place
}

function password() {
  const form = element(
    'form',
    {},
    field('Current password', { name: 'currentPassword', type: 'password', autocomplete: 'current-password' }),
    field('New password', {
      name: 'newPassword',
      type: 'password',
      required: true,
      minlength: 12,
      maxlength: 128,
      autocomplete: 'new-password',
    }),
    element('p', { class: 'soft' }, 'Changing it signs you out everywhere else and ends API keys and tokens.'),
    element('p', { role: 'alert' }),
    element('button', {}, 'Change password'),
  )
  onSubmit(form, async ({ currentPassword, newPassword }) => {
    await post('/api/auth/change-password', { newPassword, ...(currentPassword && { currentPassword }) })
    location.reload()
  })
  return element('section', {}, element('h2', {}, 'Password'), form)
}

$('#out').addEventListener(
  'click',
  guarded($('#top'), async () => {
    await call('POST', '/api/auth/logout')
    location.assign('/login')
  }),
)

if (user) await show()
else toLogin()
