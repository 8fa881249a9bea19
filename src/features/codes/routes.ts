import { browserMark, markBrowser, newMark, unmarkBrowser, withConfirmMark } from '../../http/browser.ts'
import { type Http, on } from '../../http/context.ts'
import { setCookies } from '../../http/cookies.ts'
import { SignedIn } from '../accounts/schema.ts'
import { MailAnswer } from '../mail/schema.ts'
import { LINK_MINUTES } from './messages.ts'
import { CodeSend, CodeVerify, LinkCode, LinkVerify } from './schema.ts'
import * as codes from './service.ts'

const MARK = 'tutti_link'

export const codeRoutes = (http: Http) =>
  http
    .post('/api/auth/otp/send', ({ ctx, body }) => codes.send(ctx, body), {
      ...on(codes.send, 'Mail a six-digit code to sign in or register'),
      body: CodeSend,
      response: MailAnswer,
    })
    .post(
      '/api/auth/otp/verify',
      async ({ ctx, body, set, request, app }) => {
        const answer = await withConfirmMark({ request, set, app }, (browser) =>
          codes.verify(ctx, { ...body, browser }),
        )
        return setCookies(set, app.config, 200, answer)
      },
      {
        ...on(codes.verify, 'Sign in or register with a mailed code'),
        body: CodeVerify,
        response: SignedIn,
      },
    )
    .post(
      '/api/auth/magic-link/send',
      async ({ ctx, body, set, app }) => {
        const browser = newMark()
        const answer = await codes.sendLink(ctx, { ...body, browser })
        markBrowser(set, app.config, MARK, browser, LINK_MINUTES)
        return answer
      },
      {
        ...on(codes.sendLink, 'Mail a link to sign in or register; it works in the browser that requested it'),
        body: CodeSend,
        response: MailAnswer,
      },
    )
    .post(
      '/api/auth/magic-link/verify',
      async ({ ctx, body, set, request, app }) => {
        const browser = browserMark(request, app.config, MARK)
        const answer = await withConfirmMark({ request, set, app }, (confirming) =>
          codes.verifyLink(ctx, { ...body, browser, confirming }),
        )
        setCookies(set, app.config, 200, answer)
        unmarkBrowser(set, app.config, MARK)
        return answer
      },
      {
        ...on(codes.verifyLink, 'Sign in or register with a mailed link, in the browser that requested it'),
        body: LinkVerify,
        response: SignedIn,
      },
    )
    .post('/api/auth/magic-link/code', ({ ctx, body }) => codes.exchangeLink(ctx, body), {
      ...on(codes.exchangeLink, 'Exchange a mailed link for a code to enter in the browser that requested it'),
      body: LinkVerify,
      response: LinkCode,
    })
