import { notFound } from '../../errors.ts'
import type { SitePageRenderer } from '../../feature.ts'
import { html } from '../../pages/pages.ts'
import { sponsorLink } from '../../pages/site-page.ts'
import { capitalizeFirst } from '../../text/text.ts'
import { footerSponsors, renderPage } from '../site/frame.ts'
import { servePage } from '../site/serve.ts'
import type { PublicSponsorList } from './schema.ts'
import { listPublic } from './service.ts'

/** The footer of every page names this many, the highest tier first. */
const MOST_IN_FOOTER = 6

type PublicSponsor = PublicSponsorList['items'][number]

/** A sponsor in the list: its logo, if there is one, and its name as text. */
const entry = ({ name, url, description, logo }: PublicSponsor): string =>
  `<li>${logo ? `<p class="logo">${sponsorLink({ name, url, logo })}</p>` : ''}
<h3>${sponsorLink({ name, url, logo: null })}</h3>${description ? `<p>${html(description)}</p>` : ''}</li>`

const page: SitePageRenderer = (ctx, request) =>
  servePage(ctx, request, async () => {
    const { items } = await listPublic(ctx, {})
    if (items.length === 0) throw notFound('page', 'sponsors')
    const tiers = [...Map.groupBy(items, ({ tier }) => tier)].map(
      ([tier, members]) => `<h2>${capitalizeFirst(tier)}</h2><ul class="posts">${members.map(entry).join('')}</ul>`,
    )
    const body = `<h1>Sponsors</h1><p class="lead">They support this site.</p>${tiers.join('')}`
    return { body: await renderPage(ctx, { title: 'Sponsors', path: '/sponsors', body }) }
  })

export const sponsorPages = { '/sponsors': page }

export const sponsorsInFooter = footerSponsors.handle(async (ctx) =>
  (await listPublic(ctx, {})).items.slice(0, MOST_IN_FOOTER),
)
