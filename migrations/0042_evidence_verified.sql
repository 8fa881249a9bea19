ALTER TABLE "feature_evidence" ADD COLUMN "verified_by_id" uuid;
ALTER TABLE "feature_evidence" ADD COLUMN "verified_by_name" text;
ALTER TABLE "feature_evidence" ADD COLUMN "verified_at" timestamp(3) with time zone;
