import { Type } from '@sinclair/typebox'
import type { Config } from '../../config.ts'
import {
  array,
  bool,
  email,
  id,
  instant,
  int,
  nullable,
  object,
  oneOf,
  optional,
  type Static,
  type TSchema,
  text,
  title,
} from '../../schema.ts'

/** THE LIST OF SETTINGS: every key with its fields, their schemas, defaults and meaning. */
interface Field<S extends TSchema = TSchema> {
  schema: S
  fallback: Static<S>
  /** One sentence for administrators. */
  about: string
  /** Everyone can read it, without signing in. */
  isPublic?: true
  /** Stored encrypted and never shown again. */
  isSecret?: true
  /** Returns the value that the environment sets, with the name of its variable. */
  prescribed?: (config: Config) => { value: Static<S>; by: string } | undefined
}

interface Key {
  about: string
  fields: Record<string, Field>
}

type Options<S extends TSchema> = Pick<Field<S>, 'prescribed'>
const open = <S extends TSchema>(schema: S, fallback: Static<S>, about: string, more: Options<S> = {}) =>
  ({ schema, fallback, about, isPublic: true, ...more }) as const
const internal = <S extends TSchema>(schema: S, fallback: Static<S>, about: string) =>
  ({ schema, fallback, about }) as const
const secret = (about: string) => ({ schema: nullable(text(500)), fallback: null, about, isSecret: true }) as const

const slug = nullable(text(80, { pattern: '^[a-z0-9]+(-[a-z0-9]+)*$', example: 'imprint' }))
const planName = Type.String({ pattern: '^[a-z0-9](-?[a-z0-9]){0,39}$' })
const most = optional(nullable(int({ example: 5 })))
const PlanLimits = object({ members: most, projects: most, agents: most, storageMb: most })
const enabled = (about: string) => open(bool(), false, about)

export const registry = {
  general: {
    about: 'Name and address of this site',
    fields: {
      siteName: open(title(60), 'Tutti', 'The name of the site, in titles and the feed.'),
      tagline: open(nullable(text(160)), null, 'A sentence below the name.'),
      supportEmail: open(nullable(email()), null, 'Where people ask for help.'),
    },
  },
  legal: {
    about: 'Legal pages, linked from every public page',
    fields: {
      imprintSlug: open(slug, null, 'The page with the imprint.'),
      privacySlug: open(slug, null, 'The page about privacy.'),
    },
  },
  home: {
    about: 'What visitors see first',
    fields: { pageSlug: open(slug, null, 'The page to show at /. Without one, / is the front page of Tutti.') },
  },
  seo: {
    about: 'What search engines see',
    fields: {
      indexing: open(bool(), false, 'Search engines may list the public pages.'),
      titleTemplate: open(
        nullable(text(100, { pattern: '%s', example: '%s · Analytical Engines' })),
        null,
        'The title of a page, with %s in place of its own title.',
      ),
      description: open(nullable(text(300)), null, 'The description of pages that have none.'),
      imageId: open(nullable(id()), null, 'The picture of pages without a cover: the id of an upload.'),
    },
  },
  banner: {
    about: 'A message at the top of every public page',
    fields: {
      text: open(nullable(text(300)), null, 'The message. Without one, no banner is shown.'),
      type: open(oneOf(['info', 'success', 'warning', 'error']), 'info', 'Its colour.'),
      until: open(nullable(instant()), null, 'When the banner disappears by itself.'),
    },
  },
  registration: {
    about: 'Who may create an account',
    fields: {
      open: open(bool(), true, 'Anyone can register. Otherwise users need an invitation or an administrator.', {
        prescribed: ({ REGISTRATION }) =>
          REGISTRATION === 'closed' ? { value: false, by: 'REGISTRATION' } : undefined,
      }),
    },
  },
  plans: {
    about: 'Plans of teams, with their limits',
    fields: {
      table: internal(
        Type.Record(planName, PlanLimits, { additionalProperties: false, maxProperties: 50 }),
        {},
        'Limits of each plan: members, projects, agents and storageMb. A missing limit means no limit. New teams have the plan included.',
      ),
    },
  },
  billing: {
    about: 'For the pricing page of your own site',
    fields: {
      publishableKey: open(
        nullable(text(500)),
        null,
        'The publishable key of your billing provider. Tutti only publishes it: it never charges anyone or changes a plan.',
        { prescribed: ({ BILLING_KEY }) => ({ value: BILLING_KEY ?? null, by: 'BILLING_KEY' }) },
      ),
    },
  },
  assistant: {
    about: 'The assistant that answers questions',
    fields: { enabled: open(bool(), true, 'Users can ask the assistant, if a model is configured.') },
  },
  blog: { about: 'Posts at /blog, with a feed', fields: { enabled: enabled('Posts are public.') } },
  marketplace: {
    about: 'Public skills and agents in one list',
    fields: { enabled: enabled('The list is public.') },
  },
  contact: {
    about: 'The form at /contact',
    fields: {
      enabled: enabled('Visitors can send messages.'),
      notify: internal(
        array(email(), 20, { uniqueItems: true }),
        [],
        'Addresses that receive a mail for each message.',
      ),
    },
  },
  community: {
    about: 'Posts of users at /community',
    fields: {
      enabled: enabled('Users can post, and everyone can read.'),
      moderation: internal(
        oneOf(['before', 'after']),
        'before',
        'before: an administrator approves each post before it is shown; after: posts are shown at once.',
      ),
    },
  },
  tracker: {
    about: 'Issues of the code host, mirrored for administrators',
    fields: {
      repositories: internal(
        array(text(200, { pattern: '^[\\w.-]+/[\\w./-]+$', example: 'tutti/tutti' }), 50, { uniqueItems: true }),
        [],
        'Repositories whose issues are mirrored.',
      ),
      hourly: internal(bool(), false, 'Mirror the issues every hour. Requires the stored token.'),
      token: secret('A token of the code host that reads these repositories.'),
    },
  },
} as const satisfies Record<string, Key>

export type SettingKey = keyof typeof registry
export type ValuesOf<K extends SettingKey> = {
  -readonly [F in keyof (typeof registry)[K]['fields']]: (typeof registry)[K]['fields'][F] extends Field<infer S>
    ? Static<S>
    : never
}

export const settingKeys = Object.keys(registry) as SettingKey[]
export const isSettingKey = (key: string): key is SettingKey => Object.hasOwn(registry, key)
export const fieldsOf = (key: SettingKey): [name: string, field: Field][] => Object.entries(registry[key].fields)
