-- expand
ALTER TABLE "feature_evidence" ADD COLUMN "missing" jsonb;
ALTER TABLE "feature_evidence" ADD COLUMN "reopened_at" timestamp(3) with time zone;
