/**
 * The theme is stored in a cookie, from which the server writes it into the page: no script could run early enough to
 * prevent a flash of the other theme.
 */
export type Theme = 'system' | 'light' | 'dark'
const themes: readonly Theme[] = ['system', 'light', 'dark']

export const storedTheme = (): Theme =>
  themes.find((theme) => theme === document.documentElement.dataset.theme) ?? 'system'

export const nextTheme = (theme: Theme): Theme => themes[(themes.indexOf(theme) + 1) % themes.length] as Theme

export function storeTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme
  // biome-ignore lint/suspicious/noDocumentCookie: the cookie store needs HTTPS, and many run Tutti on a plain network
  document.cookie = `theme=${theme}; Path=/; Max-Age=31536000; SameSite=Lax`
}
