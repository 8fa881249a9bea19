export const providers = ['github', 'google', 'oidc'] as const
export type Provider = (typeof providers)[number]
