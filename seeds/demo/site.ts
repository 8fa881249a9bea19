import * as community from '../../src/features/community/moderation.ts'
import * as posts from '../../src/features/community/service.ts'
import * as contact from '../../src/features/contact/service.ts'
import * as settings from '../../src/features/settings/service.ts'
import * as categories from '../../src/features/site/categories.ts'
import * as texts from '../../src/features/site/texts.ts'
import * as sponsors from '../../src/features/sponsors/service.ts'
import { act, ago, minutesAgo, type Step } from './script.ts'

const set = (key: string, patch: Record<string, unknown>): Step =>
  act(ago(20, '09:00'), 'ada', settings.update, { key, patch })

const post = (days: number, title: string, excerpt: string, content: string): Step =>
  act(
    ago(days, '10:30'),
    'ada',
    texts.createPost,
    (id) => ({
      title,
      excerpt,
      content,
      status: 'published' as const,
      categoryId: id('category news'),
      tags: ['lantern'],
    }),
    `post ${title}`,
  )

/** The public site of the team: what visitors see, and what waits for administrators. */
export const siteSteps: Step[] = [
  set('general', { siteName: 'Northlight', tagline: 'Libraries that work without a network' }),
  set('blog', { enabled: true }),
  set('contact', { enabled: true }),
  set('community', { enabled: true, moderation: 'before' }),
  set('marketplace', { enabled: true }),
  act(ago(20, '09:05'), 'ada', categories.createCategory, { name: 'News' }, 'category news'),
  act(ago(20, '09:10'), 'ada', texts.createPage, {
    title: 'About us',
    content: 'Northlight builds **Lantern**, a reader for libraries, and **Harbour**, the server behind it.',
    status: 'published',
    nav: true,
    position: 1,
  }),
  act(ago(20, '09:20'), 'ada', texts.createPage, { title: 'Imprint', content: 'Northlight, Harbour Street 1.' }),
  post(
    14,
    'Lantern opens books without a network',
    'What a downloaded book can do on a train.',
    'Since this week a downloaded book opens with **no network at all**.\n\n## What changed\n\nThe reader asks only the store.',
  ),
  post(
    5,
    'How we work with agents',
    'Three agents, four people, one board.',
    `Three agents have worked beside us since spring. What we learned:

- **One board.** An agent takes a task as a person does, and everybody sees who holds what.
- **Evidence before opinion.** A change is done when a test fails without it, not when somebody says so.
- **Questions are work.** An agent that asks gets an answer the same day, or the task goes back.

> The best sign that it works: nobody asks any more who wrote a line.

Next month we write about what went wrong.`,
  ),
  act(ago(9, '11:00'), 'ada', sponsors.create, {
    name: 'Riverbank Library',
    url: 'https://riverbank.example',
    tier: 'gold',
  }),
  {
    at: ago(3, '14:00'),
    by: 'ada',
    run: async (ctx, stage) => {
      const { id } = await posts.create(ctx, {
        title: 'A skill for reviewing migrations',
        content: 'We keep a skill for **each kind of review**. What do you use?',
      })
      await community.moderate(await stage.as('system'), { id, status: 'visible', pinned: true })
    },
  },
  act(ago(1, '10:15'), 'dana', posts.create, {
    title: 'How do you show what is on a phone?',
    content: 'Our readers ask "is it on my phone?". What do your libraries put on the shelf: a mark, a word, nothing?',
  }),
  {
    at: minutesAgo(90),
    by: 'nobody',
    run: (ctx) =>
      contact.storeContactMessage(ctx, {
        name: 'Grace Hopper',
        email: 'grace@example.com',
        subject: 'A question',
        message: 'Does Lantern work on the tablets of our library? They are five years old.',
        token: '',
      }),
  },
]
