-- expand
ALTER TABLE "changes" ADD COLUMN "request" jsonb;
ALTER TABLE "changes" ADD COLUMN "targets" uuid[];
ALTER TABLE "changes" ADD COLUMN "done" integer DEFAULT 0 NOT NULL;
ALTER TABLE "changes" ADD COLUMN "refused" integer DEFAULT 0 NOT NULL;
ALTER TABLE "changes" ADD COLUMN "problems" jsonb;
ALTER TABLE "changes" ADD COLUMN "notices" jsonb;
ALTER TABLE "changes" ADD COLUMN "stopped_because" text;
