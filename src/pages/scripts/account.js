import {
  $,
  all,
  call,
  element,
  field,
  get,
  guarded,
  kept,
  leave,
  onSubmit,
  post,
  providers,
  put,
  quoted,
  reasonFromFragment,
  toLogin,
  whoAmI,
} from './api.js'
import { addPasskey, noPasskeys } from './passkeys.js'
import { secret, section } from './section.js'

const main = $('#sections')

const when = (at) => new Date(at).toLocaleString()
const alive = (item) => !item.revokedAt && Date.parse(item.expiresAt) > Date.now()
const credential = (item) => [
  item.name,
  `${item.prefix}…${item.last4}`,
  item.lastUsedAt ? `used ${when(item.lastUsedAt)}` : 'never used',
  `until ${when(item.expiresAt)}`,
]

/** Returns "Firefox on Linux" for a user agent, or the user agent itself. */
function browserOf(agent) {
  const first = (known) => known.find((name) => agent.includes(name))
  const browser = first(['Edg/', 'OPR/', 'Firefox/', 'Chrome/', 'Safari/'])
  const system = first(['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS', 'Linux'])
  const common = { 'Edg/': 'Edge', 'OPR/': 'Opera' }
  return browser && system ? `${common[browser] ?? browser.slice(0, -1)} on ${system}` : agent
}

async function show(notice, role = 'status') {
  const user = await whoAmI()
  if (!user) return toLogin()
  const teams = await all('/api/teams')
  const invites = await all('/api/invites')
  const { oauth } = await get('/api/auth/providers')
  $('#who').replaceChildren(
    quoted(user.name),
    ' · ',
    quoted(user.email),
    user.role === 'admin' ? ' · administrator' : '',
  )
  main.replaceChildren(
    ...(notice ? [element('p', { role, tabindex: '-1' }, notice)] : []),
    ...invites.map(invitation),
    ...(user.emailVerifiedAt ? [] : [unverified(user)]),
    tokens(teams),
    keys(),
    passkeys(),
    ...(oauth.length > 0 ? [connected(oauth)] : []),
    sessions(),
    section({
      title: 'Teams',
      about: ['Where you and your agents work.'],
      list: '/api/teams',
      line: (team) => [team.name, team.personal ? 'your own space' : team.role],
      href: (team) => `/teams/${team.id}`,
    }),
    person(user),
    password(user),
  )
  if (notice) main.firstChild.focus()
}

const tokens = (teams) =>
  section({
    title: 'Agents',
    about: ['An MCP token connects one agent to one team.'],
    list: '/api/mcp-tokens',
    shown: alive,
    line: (token) => [...credential(token), teams.find((team) => team.id === token.organizationId)?.name ?? 'sandbox'],
    remove: (token) => `/api/mcp-tokens/${token.id}`,
    verb: 'Revoke',
    fields: [
      field('Name', { name: 'name', required: true, maxlength: 100, placeholder: 'laptop' }),
      element(
        'label',
        {},
        'Team',
        element(
          'select',
          { name: 'organizationId' },
          ...teams.map((team) => element('option', { value: team.id }, team.name)),
        ),
      ),
    ],
    create: (input) => post('/api/mcp-tokens', input),
    make: 'Create a token',
    once: ({ token }) => [
      secret(token),
      element('p', {}, 'Connect Claude Code with:'),
      secret(`claude mcp add --transport http tutti ${location.origin}/mcp --header "Authorization: Bearer ${token}"`),
    ],
  })

const keys = () =>
  section({
    title: 'API keys',
    about: ['For scripts that call the web API as you.'],
    list: '/api/settings/api-keys',
    shown: alive,
    line: credential,
    remove: (key) => `/api/settings/api-keys/${key.id}`,
    verb: 'Revoke',
    fields: [field('Name', { name: 'name', required: true, maxlength: 100, placeholder: 'deploy script' })],
    create: (input) => post('/api/settings/api-keys', input),
    make: 'Create a key',
    once: ({ token }) => [secret(token)],
  })

function passkeys() {
  const impossible = noPasskeys()
  return section({
    title: 'Passkeys',
    about: impossible ?? ['Sign in with your fingerprint, face or security key.'],
    list: '/api/settings/passkeys',
    line: (passkey) => [passkey.name, passkey.lastUsedAt ? `used ${when(passkey.lastUsedAt)}` : 'never used'],
    remove: (passkey) => `/api/settings/passkeys/${passkey.id}`,
    verb: 'Remove',
    fields: [field('Name', { name: 'name', required: true, maxlength: 100, placeholder: 'this laptop' })],
    create: impossible ? undefined : ({ name }) => addPasskey(name),
    make: 'Add a passkey',
  })
}

const connected = (oauth) =>
  section({
    title: 'Connected accounts',
    about: ['Other accounts you can sign in with.'],
    list: '/api/settings/connected-accounts',
    line: (account) => [providers[account.provider], account.email ?? account.name ?? ''],
    remove: (account) => `/api/settings/connected-accounts/${account.provider}`,
    verb: 'Disconnect',
    after: (items) =>
      oauth
        .filter((provider) => !items.some((item) => item.provider === provider))
        .map((provider) =>
          element(
            'a',
            { class: 'button quiet', href: `/api/auth/oauth/${provider}?link=1&returnTo=/account` },
            `Connect ${providers[provider]}`,
          ),
        ),
  })

const sessions = () =>
  section({
    title: 'Where you are signed in',
    about: ['If you do not recognise one of them, end it and change your password.'],
    list: '/api/settings/sessions',
    line: (session) => [
      session.device ?? browserOf(session.userAgent ?? 'unknown'),
      session.impersonated
        ? 'an administrator acting as you'
        : `by ${providers[session.via] ?? session.via.replace('_', ' ')}`,
      session.ip ?? 'unknown address',
      session.current ? 'this browser' : `seen ${when(session.lastSeenAt)}`,
    ],
    remove: (session) => (session.current ? undefined : `/api/settings/sessions/${session.id}`),
    verb: 'End',
  })

function invitation({ id, organization, role, invitedBy }) {
  const by = invitedBy ? [quoted(invitedBy.name), ' invites you'] : ['You are invited']
  const place = element(
    'section',
    { class: 'once' },
    element('p', {}, ...by, ' to ', quoted(organization.name), ` as ${role}.`),
  )
  const answer = (verb) =>
    guarded(place, async () => {
      await call('POST', `/api/invites/${id}/${verb}`)
      await show(verb === 'accept' ? `Welcome to ${organization.name}.` : 'You declined the invitation.')
    })
  const accept = element('button', { onclick: answer('accept') }, 'Accept')
  place.append(
    element(
      'div',
      { class: 'row' },
      accept,
      element('button', { class: 'quiet', onclick: answer('decline') }, 'Decline'),
    ),
  )
  return place
}

function unverified({ email }) {
  const place = element(
    'section',
    { class: 'once' },
    element('p', {}, 'Your address ', quoted(email), ' is not confirmed yet.'),
  )
  const send = guarded(place, async () => {
    const mailed = await post('/api/auth/verify-email', {})
    put(
      place,
      element(
        'p',
        { role: 'status' },
        mailed.sent ? 'A mail was sent to ' : 'There is a new mail for ',
        quoted(email),
        '.',
      ),
      mailed.sent ? undefined : kept(mailed),
    )
  })
  place.append(element('button', { class: 'quiet', onclick: send }, 'Request a new mail'))
  return place
}

function form(make, fields, work) {
  const made = element('form', {}, ...fields, element('p', { role: 'alert' }), element('button', {}, make))
  onSubmit(made, work)
  return made
}

function person({ name, email }) {
  const rename = form(
    'Change name',
    [field('Name', { name: 'name', value: name, required: true, maxlength: 100, autocomplete: 'name' })],
    async (input) => {
      await call('PATCH', '/api/auth/profile', input)
      await show('Your name was changed.')
    },
  )
  const to = field('New e-mail address', {
    name: 'email',
    type: 'email',
    required: true,
    maxlength: 254,
    autocomplete: 'email',
  })
  const move = form('Change address', [to], async (input) => {
    const mailed = await post('/api/auth/email-change', input)
    const where = mailed.sent
      ? `A link was sent to ${input.email}.`
      : `There is a link for ${input.email}. ${mailed.detail}`
    await show(`${where} Until you open it, your address stays ${email}.`)
  })
  return element('section', {}, element('h2', {}, 'You'), rename, move)
}

function password({ email, role }) {
  const least = role === 'admin' ? 15 : 12
  const change = form(
    'Change password',
    [
      // Tells password managers which account it is.
      element('input', { type: 'email', value: email, autocomplete: 'username', hidden: true }),
      field('Current password', {
        name: 'currentPassword',
        type: 'password',
        maxlength: 128,
        autocomplete: 'current-password',
      }),
      element('p', { class: 'soft' }, 'Leave empty if you have none.'),
      field('New password', {
        name: 'newPassword',
        type: 'password',
        required: true,
        minlength: least,
        maxlength: 128,
        autocomplete: 'new-password',
      }),
      element(
        'p',
        { class: 'soft' },
        `At least ${least} characters. Changing it signs you out everywhere else, and revokes your API keys and MCP tokens.`,
      ),
    ],
    async ({ currentPassword, newPassword }) => {
      await post('/api/auth/change-password', { newPassword, ...(currentPassword && { currentPassword }) })
      await show('Your password was changed. All other sessions were signed out.')
    },
  )
  return element('section', {}, element('h2', {}, 'Password'), change)
}

$('#out').addEventListener(
  'click',
  guarded($('#top'), async () => {
    await call('POST', '/api/auth/logout')
    return leave('/login')
  }),
)

await guarded(main, () => show(reasonFromFragment(), 'alert'))()
