ALTER TABLE "site_texts" ADD COLUMN "cover_alt" text;
