import { html } from './pages.ts'

/** The layout of public pages: no script, no cookie, and the same bytes for every reader. */
export interface SiteFrame {
  siteName: string
  tagline: string | null
  /** Links in the head of the page. */
  nav: { href: string; text: string }[]
  /** Links at its end. */
  legal: { href: string; text: string }[]
  /** Sponsors named at its end: the first few of them. */
  sponsors: SiteSponsor[]
  banner: { text: string; type: string } | null
  /** Address of the feed, if there is one. */
  feed: string | null
  isIndexed: boolean
}

export interface SiteSponsor {
  name: string
  url: string | null
  /** Path of a picture. */
  logo: string | null
}

export interface SitePage {
  title: string
  /** The whole text of `<title>`. */
  heading: string
  description: string | null
  /** Absolute address of the page. */
  canonical: string
  /** Absolute address of a picture. */
  image: string | null
  type?: 'website' | 'article'
  body: string
}

const meta = (name: string, value: string | null): string =>
  value ? `<meta ${name.startsWith('og:') ? 'property' : 'name'}="${name}" content="${html(value)}">` : ''
const link = ({ href, text }: { href: string; text: string }, isHere = false): string =>
  `<a href="${html(href)}"${isHere ? ' aria-current="page"' : ''}>${html(text)}</a>`

/** Links of the navigation; the current page is marked. */
const navOf = ({ nav }: SiteFrame, { canonical }: { canonical: string }): string =>
  nav.map((one) => link(one, new URL(canonical).pathname === one.href)).join('')

const noticeOf = ({ banner }: SiteFrame): string =>
  banner ? `<aside class="banner ${html(banner.type)}" aria-label="Notice">${html(banner.text)}</aside>` : ''
/** The logo of a sponsor, or else the name, with a link that search engines know to be paid for. */
export const sponsorLink = ({ name, url, logo }: SiteSponsor): string => {
  const shown = logo ? `<img src="${html(logo)}" alt="${html(name)}" loading="lazy">` : html(name)
  return url ? `<a href="${html(url)}" rel="sponsored noopener">${shown}</a>` : `<span>${shown}</span>`
}
const sponsorsOf = ({ sponsors }: SiteFrame): string =>
  sponsors.length > 0
    ? `<nav class="sponsors" aria-label="Sponsors">${link({ href: '/sponsors', text: 'Sponsors' })}${sponsors
        .map(sponsorLink)
        .join('')}</nav>`
    : ''
const signIn = { href: '/login', text: 'Sign in' }

export const sitePage = (frame: SiteFrame, page: SitePage): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${html(page.heading)}</title>
${meta('description', page.description)}${frame.isIndexed ? '' : meta('robots', 'noindex')}
<link rel="canonical" href="${html(page.canonical)}">
${meta('og:title', page.title)}${meta('og:site_name', frame.siteName)}${meta('og:type', page.type ?? 'website')}
${meta('og:url', page.canonical)}${meta('og:description', page.description)}${meta('og:image', page.image)}
${frame.feed ? `<link rel="alternate" type="application/atom+xml" href="${html(frame.feed)}">` : ''}
<link rel="icon" href="/assets/icon.svg"><link rel="stylesheet" href="/assets/tutti.css">
<link rel="stylesheet" href="/assets/site.css"></head><body class="site">
<a class="skip" href="#content">Skip to the content</a>
<header class="bar"><a href="/"><strong>${html(frame.siteName)}</strong></a>
<nav aria-label="${html(frame.siteName)}">${navOf(frame, page)}</nav></header>
${noticeOf(frame)}
<main id="content">${page.body}</main>
<footer>${sponsorsOf(frame)}<p>${html([frame.siteName, frame.tagline].filter(Boolean).join(' · '))}</p>
<nav class="legal" aria-label="Legal">${[...frame.legal, signIn].map((one) => link(one)).join('')}</nav></footer>
</body></html>`

/** A date as people read it, with the exact time for programs. */
export const dateElement = (at: string): string =>
  `<time datetime="${at}">${new Date(at).toLocaleDateString('en-GB', {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  })}</time>`
