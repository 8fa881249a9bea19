CREATE TABLE "site_old_slugs" (
	"kind" text NOT NULL,
	"slug" text NOT NULL,
	"record_id" uuid NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "site_old_slugs_kind_slug_pk" PRIMARY KEY("kind","slug")
);

CREATE TABLE "site_categories" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"name" text NOT NULL,
	"slug" text NOT NULL,
	"description" text
);

CREATE TABLE "site_texts" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"deleted_at" timestamp(3) with time zone,
	"kind" text NOT NULL,
	"title" text NOT NULL,
	"slug" text NOT NULL,
	"content" text NOT NULL,
	"description" text,
	"excerpt" text,
	"status" text NOT NULL,
	"published_at" timestamp(3) with time zone,
	"nav" boolean DEFAULT false NOT NULL,
	"position" integer DEFAULT 0 NOT NULL,
	"category_id" uuid,
	"tags" text[] NOT NULL,
	"cover_id" uuid,
	"created_by_id" uuid,
	"search" "tsvector" GENERATED ALWAYS AS (setweight(to_tsvector('simple', translate(left(coalesce("title", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'A') || setweight(to_tsvector('simple', translate(left(coalesce("description", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'B') || setweight(to_tsvector('simple', translate(left(coalesce("excerpt", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'C') || setweight(to_tsvector('simple', translate(left(coalesce("content", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'D')) STORED
);

CREATE TABLE "contact_messages" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"deleted_at" timestamp(3) with time zone,
	"name" text,
	"email" text NOT NULL,
	"subject" text,
	"message" text NOT NULL,
	"read_at" timestamp(3) with time zone,
	"spam" boolean NOT NULL,
	"reason" text,
	"text_hash" text NOT NULL
);

CREATE TABLE "site_settings" (
	"key" text PRIMARY KEY NOT NULL,
	"values" jsonb NOT NULL,
	"secrets" jsonb NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"updated_by_id" uuid
);

CREATE TABLE "sponsors" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"deleted_at" timestamp(3) with time zone,
	"name" text NOT NULL,
	"url" text,
	"description" text,
	"tier" text NOT NULL,
	"position" integer DEFAULT 0 NOT NULL,
	"active" boolean DEFAULT true NOT NULL,
	"logo_id" uuid
);

ALTER TABLE "site_texts" ADD CONSTRAINT "site_texts_category_id_site_categories_id_fk" FOREIGN KEY ("category_id") REFERENCES "public"."site_categories"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "site_texts" ADD CONSTRAINT "site_texts_cover_id_uploads_id_fk" FOREIGN KEY ("cover_id") REFERENCES "public"."uploads"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "site_texts" ADD CONSTRAINT "site_texts_created_by_id_users_id_fk" FOREIGN KEY ("created_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "site_settings" ADD CONSTRAINT "site_settings_updated_by_id_users_id_fk" FOREIGN KEY ("updated_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "sponsors" ADD CONSTRAINT "sponsors_logo_id_uploads_id_fk" FOREIGN KEY ("logo_id") REFERENCES "public"."uploads"("id") ON DELETE set null ON UPDATE no action;
CREATE INDEX "site_old_slugs_record" ON "site_old_slugs" USING btree ("record_id");
CREATE UNIQUE INDEX "site_categories_slug" ON "site_categories" USING btree ("slug");
CREATE UNIQUE INDEX "site_texts_slug" ON "site_texts" USING btree ("kind","slug") WHERE "site_texts"."deleted_at" is null;
CREATE INDEX "site_texts_published" ON "site_texts" USING btree ("kind","published_at","id") WHERE "site_texts"."deleted_at" is null;
CREATE INDEX "site_texts_updated" ON "site_texts" USING btree ("kind","updated_at","id");
CREATE INDEX "site_texts_category" ON "site_texts" USING btree ("category_id","published_at","id");
CREATE INDEX "site_texts_search" ON "site_texts" USING gin ("search");
CREATE INDEX "site_texts_author" ON "site_texts" USING btree ("created_by_id");
CREATE INDEX "site_texts_cover" ON "site_texts" USING btree ("cover_id");
CREATE INDEX "contact_messages_created" ON "contact_messages" USING btree ("spam","created_at","id");
CREATE INDEX "contact_messages_text" ON "contact_messages" USING btree ("text_hash");
CREATE INDEX "sponsors_created" ON "sponsors" USING btree ("created_at","id") WHERE "sponsors"."deleted_at" is null;
CREATE INDEX "sponsors_logo" ON "sponsors" USING btree ("logo_id");
