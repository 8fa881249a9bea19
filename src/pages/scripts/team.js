// One team: its members with their roles, and its open invites. Only admins and owners see how to change them.
import { all, call, chooseIn, element, field, get, post, quoted } from './api.js'
import { secret, section } from './section.js'

const abilities = {
  viewer: 'reads',
  member: 'reads and writes',
  admin: 'also manages the team',
  owner: 'also appoints owners',
}

/** The roles that a person with this role may give, the lowest first. */
const givenBy = (role) => {
  const rising = Object.keys(abilities)
  return role === 'owner' ? rising : role === 'admin' ? rising.slice(0, -1) : []
}

const choiceOf = (roles, chosen) =>
  element(
    'label',
    {},
    'Role',
    element(
      'select',
      { name: 'role' },
      ...roles.map((role) =>
        element('option', { value: role, selected: role === chosen }, `${role}: ${abilities[role]}`),
      ),
    ),
  )

const day = (at) => new Date(at).toLocaleDateString(undefined, { dateStyle: 'medium' })

function members({ id, role }, me) {
  const path = `/api/teams/${id}/members`
  const roles = givenBy(role)
  /** Owners are managed by owners only. */
  const manages = (member) => roles.includes(member.role)
  return section({
    title: 'Members',
    about: ['Who works here, and what they may do.'],
    list: path,
    line: (member) => [
      member.name,
      member.role,
      member.email,
      member.id === me.id ? 'you' : `since ${day(member.joinedAt)}`,
    ],
    remove: (member) => (manages(member) && member.id !== me.id ? `${path}/${member.id}` : undefined),
    verb: 'Remove',
    change: {
      verb: 'Change role',
      of: (member) =>
        manages(member) &&
        (async () => {
          const input = await chooseIn('Change role', [quoted(member.name)], [choiceOf(roles, member.role)], 'Save')
          if (input) await call('PATCH', `${path}/${member.id}`, input)
          return input !== undefined
        }),
    },
  })
}

/** What only the inviter sees, and only now, if the server sends no mail. */
const toHandOver = ({ email, link }) =>
  link && [
    element(
      'p',
      {},
      'This server sends no mail. Send this link to ',
      quoted(email),
      ' yourself. It works for 14 days and only for this address.',
    ),
    secret(link),
  ]

function invites({ id, role }) {
  const roles = givenBy(role)
  const path = `/api/teams/${id}/invites`
  const invite = (input) => post(`/api/teams/${id}/invite`, input)
  return section({
    title: 'Invites',
    about: ['People who may join and have not answered yet.'],
    list: path,
    line: (item) => [
      item.email,
      item.role,
      Date.parse(item.expiresAt) > Date.now() ? `until ${day(item.expiresAt)}` : 'expired',
    ],
    remove: (item) => (roles.includes(item.role) ? `${path}/${item.id}` : undefined),
    verb: 'Revoke',
    change: {
      verb: 'Invite again',
      of: (item) => roles.includes(item.role) && (() => invite({ email: item.email, role: item.role })),
    },
    ...(roles.length > 0 && {
      fields: [
        field('E-mail', { name: 'email', type: 'email', required: true, maxlength: 254, autocomplete: 'off' }),
        choiceOf(roles, 'member'),
      ],
      create: invite,
      make: 'Invite',
      once: toHandOver,
      done: ({ email }) => ['A mail with a link is on its way to ', quoted(email), '.'],
    }),
  })
}

/** Returns the content of the page: of the team with this id, or of the current one. */
export async function showTeam(id, me, title) {
  const team = await get(id ? `/api/teams/${encodeURIComponent(id)}` : '/api/team')
  const others = (await all('/api/teams')).filter((other) => other.id !== team.id)
  return [
    title(team.name),
    element('p', { class: 'lead' }, 'Your role is ', element('strong', {}, team.role), '.'),
    members(team, me),
    invites(team),
    ...(others.length > 0
      ? [
          element('h2', {}, 'Your other teams'),
          element(
            'ul',
            {},
            ...others.map((other) =>
              element('li', {}, element('a', { href: `/teams/${other.id}` }, quoted(other.name))),
            ),
          ),
        ]
      : []),
  ]
}
