import type { Ctx } from '../../action.ts'
import { hook } from '../../hooks.ts'
import type { SiteFrame, SiteSponsor } from '../../pages/site-page.ts'
import { sitePage } from '../../pages/site-page.ts'
import { visibleText } from '../../text/text.ts'
import { settingsOf } from '../settings/values.ts'
import { navigationLinks } from './public.ts'

interface PublicPage {
  title: string
  description?: string | null
  /** Path of the page, for its canonical address. */
  path: string
  cover?: string | null
  type?: 'website' | 'article'
  body: string
}

/** Returns the sponsors for the footer of every page. */
export const footerSponsors = hook<Record<string, never>, SiteSponsor[]>('site.footerSponsors')

async function frameOf(ctx: Ctx): Promise<SiteFrame> {
  const { general, legal, seo, banner, blog, contact, community, marketplace } = await settingsOf(ctx)
  const link = (isOn: boolean | string | null, href: string, text: string) => (isOn ? [{ href, text }] : [])
  return {
    siteName: general.siteName,
    tagline: general.tagline,
    nav: [
      ...(await navigationLinks(ctx)),
      ...link(blog.enabled, '/blog', 'Blog'),
      ...link(community.enabled, '/community', 'Community'),
      ...link(marketplace.enabled, '/marketplace', 'Marketplace'),
      ...link(contact.enabled, '/contact', 'Contact'),
    ],
    legal: [
      ...link(legal.imprintSlug, `/p/${legal.imprintSlug}`, 'Imprint'),
      ...link(legal.privacySlug, `/p/${legal.privacySlug}`, 'Privacy'),
    ],
    sponsors: (await footerSponsors.call(ctx, {})).flat(),
    banner: banner.text && (!banner.until || banner.until > ctx.now) ? { text: banner.text, type: banner.type } : null,
    feed: blog.enabled ? `${ctx.app.url}/feed.xml` : null,
    isIndexed: seo.indexing,
  }
}

/** Returns the whole HTML of a public page, without characters that hide or reverse text. */
export async function renderPage(
  ctx: Ctx,
  { title, description, path, cover, type, body }: PublicPage,
): Promise<string> {
  const { general, seo } = await settingsOf(ctx)
  const frame = await frameOf(ctx)
  const image = cover ?? (seo.imageId ? `/uploads/${seo.imageId}` : null)
  // A function, so that `$&` in a title stays unchanged.
  const heading = (seo.titleTemplate ?? `%s · ${general.siteName}`).replaceAll('%s', () => title)
  // Records, names and settings are stored as they were written.
  const whole = sitePage(frame, {
    title,
    heading,
    description: description || seo.description,
    canonical: `${ctx.app.url}${path}`,
    image: image && `${ctx.app.url}${image}`,
    type,
    body,
  })
  return visibleText(whole)
}
