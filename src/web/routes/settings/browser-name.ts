const browsers = { 'Edg/': 'Edge', 'OPR/': 'Opera', 'Firefox/': 'Firefox', 'Chrome/': 'Chrome', 'Safari/': 'Safari' }
const systems = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS', 'Linux']

/** Returns "Firefox on Linux" for a user agent, or the user agent itself. */
export function browserName(agent: string): string {
  const browser = Object.entries(browsers).find(([mark]) => agent.includes(mark))?.[1]
  const system = systems.find((name) => agent.includes(name))
  return browser && system ? `${browser} on ${system}` : agent
}
