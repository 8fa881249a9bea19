import { type Http, on, respondCreated } from '../../http/context.ts'
import { Project } from '../projects/schema.ts'
import { createSample } from './sample.ts'
import { Onboard, Onboarded, Onboarding } from './schema.ts'
import * as onboarding from './service.ts'

export const onboardingRoutes = (http: Http) =>
  http
    .get('/api/onboarding', ({ ctx }) => onboarding.listSteps(ctx, {}), {
      ...on(onboarding.listSteps, 'Onboarding steps you have completed'),
      response: Onboarding,
    })
    .post(
      '/api/onboarding',
      async ({ ctx, body, set }) => {
        const done = await onboarding.finishOnboarding(ctx, body)
        respondCreated(set, '/api/teams', done.organization)
        return done
      },
      {
        ...on(onboarding.finishOnboarding, 'Create your first team and invite people to it'),
        body: Onboard,
        response: { 201: Onboarded },
      },
    )
    .post(
      '/api/onboarding/sample',
      async ({ ctx, set }) => respondCreated(set, '/api/projects', await createSample(ctx, {})),
      {
        ...on(
          createSample,
          'Create a sample project with tasks, a feature, a note and a decision, or get the existing one',
        ),
        response: { 201: Project },
      },
    )
